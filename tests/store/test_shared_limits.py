"""Rate limits and budgets that processes keep together through the store."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from stores import ON_SERVER

from prompt_evaluator.store import Store

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


def test_pieces_of_a_limit_follow_each_other(store: Store) -> None:
    began = time.monotonic()
    begins = [store.reserve("key", "requests", 10.0, 0.0) for _ in range(4)]
    took = time.monotonic() - began

    assert all(10 * at - took - 0.01 <= wait <= 10 * at + 0.01 for at, wait in enumerate(begins))


def test_keys_and_kinds_have_limits_of_their_own(store: Store) -> None:
    store.reserve("key", "requests", 100.0, 0.0)

    assert store.reserve("key", "tokens", 1.0, 0.0) < 1
    assert store.reserve("other", "requests", 1.0, 0.0) < 1


def test_time_that_nobody_used_is_kept_for_a_moment_only(store: Store) -> None:
    store.reserve("key", "requests", 0.0, 0.0)
    time.sleep(0.3)

    assert store.reserve("key", "requests", 0.0, 0.2) == pytest.approx(-0.2, abs=0.05)


def test_what_is_given_back_is_there_for_the_next(store: Store) -> None:
    store.reserve("key", "tokens", 100.0, 0.0)
    store.reserve("key", "tokens", -90.0, 0.0)

    assert 5 < store.reserve("key", "tokens", 1.0, 0.0) <= 10


def test_a_hold_delays_everybody_who_uses_the_key_and_nobody_else(store: Store) -> None:
    store.reserve("key", "requests", 1.0, 0.0)
    store.hold("key", 60.0)
    store.hold("key", 5.0)

    assert list(store.held(["key", "other"])) == ["key"]
    assert 50 < store.held(["key"])["key"] <= 60
    assert 50 < store.reserve("key", "requests", 1.0, 0.0) <= 60
    assert store.reserve("other", "requests", 1.0, 0.0) < 1


def test_a_hold_ends(store: Store) -> None:
    store.hold("key", 0.05)
    time.sleep(0.1)

    assert store.held(["key"]) == {}


def test_processes_that_reserve_at_once_never_get_the_same_piece(
    store: Store, child: Callable[..., subprocess.Popen[str]]
) -> None:
    processes = [
        child("""
            store = Store.open(location)
            for _ in range(25):
                store.reserve("key", "requests", 1.0, 0.0)
        """)
        for _ in range(2)
    ]
    began = time.monotonic()
    store.reserve("key", "requests", 0.0, 0.0)
    assert [process.wait(60) for process in processes] == [0, 0]

    begins = store.reserve("key", "requests", 1.0, 0.0)

    assert 50 - (time.monotonic() - began) - 0.1 <= begins <= 50.1


def test_all_processes_of_a_store_have_one_salt_and_stores_have_their_own(
    store: Store, location: Path | str, tmp_path: Path
) -> None:
    again, other = Store.open(location), Store.open(tmp_path / "other.db")
    salts = [store.salt(), again.salt(), other.salt()]
    again.close()
    other.close()

    assert salts[0] == salts[1] != salts[2]
    assert len(salts[0]) == 16


def test_a_budget_gives_what_is_left_and_no_more(store: Store) -> None:
    given = [store.spend("day 1", 4.0, 10.0).amount for _ in range(4)]

    assert given == [4, 4, 2, 0]
    assert store.spending("day 1") == 10
    assert store.spending("day 2") == 0
    store.correct_spending("day 1", -1.5)
    assert store.spend("day 1", 4.0, 10.0) == (1.5, 10.0)
    store.correct_spending("day 1", 3.0)  # a call cost more than expected
    assert store.spend("day 1", 4.0, 10.0) == (0.0, 13.0)


def test_many_who_spend_at_once_never_get_more_than_there_is(store: Store, location: Path | str) -> None:
    given: list[float] = []

    def spend() -> None:
        own = Store.open(location)
        while amount := own.spend("day 1", 0.3, 10.0).amount:
            given.append(amount)
        own.close()

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(given) == pytest.approx(10)
    assert store.spending("day 1") == pytest.approx(10)


@ON_SERVER
def test_a_client_that_stops_in_between_locks_nothing(store: Store, location: str) -> None:
    other = Store.open(location)
    with other._at_once() as connection:  # noqa: SLF001 - a process that is stopped after its statement
        connection.exec_driver_sql("INSERT INTO shared_limits (key, kind, free_at) VALUES ('key', 'requests', 0)")
        begins = store.reserve("key", "requests", 1.0, 0.0)
    other.close()

    assert begins < 1
