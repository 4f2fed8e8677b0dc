"""A request that is sent twice with the same key is carried out once, by one of any number of servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from stores import sql

from prompt_evaluator.app import request_keys
from prompt_evaluator.model.request_key import Answered, Claimed, Different, InProgress

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model.request_key import Claim
    from prompt_evaluator.store import Store

NOW = "2026-01-31T12:00:00.000Z"
SOON = "2026-01-31T12:00:59.000Z"
A_MINUTE_LATER = "2026-01-31T12:01:00.001Z"
THE_NEXT_DAY = "2026-02-01T12:00:00.001Z"


def claim(store: Store, key: str = "k", request: str = "r", now: str = NOW) -> Claim:
    return request_keys.claim(store, key, request, now=now)


def claimed(store: Store, now: str = NOW) -> Claimed:
    found = claim(store, now=now)
    assert isinstance(found, Claimed)
    return found


def test_a_request_is_carried_out_once_and_answered_alike(store: Store) -> None:
    first = claimed(store)
    meanwhile = claim(store, now=SOON)
    request_keys.answer(store, first, '{"id": "run-1", "note": "☕\\u0000"}')

    assert meanwhile == InProgress()
    assert claim(store, now=SOON) == Answered(answer='{"id": "run-1", "note": "☕\\u0000"}')


def test_another_request_with_the_same_key_is_told_apart(store: Store) -> None:
    first = claimed(store)

    assert claim(store, request="other") == Different()
    request_keys.answer(store, first, "{}")
    assert claim(store, request="other") == Different()
    assert isinstance(claim(store, key="K", request="other"), Claimed)


def test_a_request_that_failed_can_be_sent_again(store: Store) -> None:
    request_keys.release(store, claimed(store))

    assert isinstance(claim(store, request="corrected"), Claimed)


def test_a_claim_whose_server_was_killed_is_given_to_the_next_after_a_minute(store: Store) -> None:
    lost = claimed(store)
    taken = claimed(store, now=A_MINUTE_LATER)

    assert claim(store, now=A_MINUTE_LATER) == InProgress()
    request_keys.answer(store, lost, '"too late"')
    request_keys.release(store, lost)
    assert claim(store, now=A_MINUTE_LATER) == InProgress()
    request_keys.answer(store, taken, '"in time"')
    assert claim(store, now=A_MINUTE_LATER) == Answered(answer='"in time"')


def test_an_answer_is_kept_for_a_day(store: Store, location: Path | str) -> None:
    request_keys.answer(store, claimed(store), "{}")

    assert claim(store, now="2026-02-01T11:59:59.000Z") == Answered(answer="{}")
    assert isinstance(claim(store, key="another", now=THE_NEXT_DAY), Claimed)
    assert sql(location, "SELECT key FROM request_keys") == [("another",)]
    assert isinstance(claim(store, now=THE_NEXT_DAY), Claimed)


def test_a_released_key_that_has_an_answer_keeps_it(store: Store) -> None:
    first = claimed(store)
    request_keys.answer(store, first, "1")

    request_keys.answer(store, first, "2")
    request_keys.release(store, first)

    assert claim(store) == Answered(answer="1")


@pytest.mark.parametrize("key", ["", "a\x00b", "\ud800", "ü" * 300, "'; DROP TABLE runs; --"], ids=ascii)
def test_any_text_is_a_key(store: Store, key: str) -> None:
    found = claim(store, key=key)

    assert isinstance(found, Claimed)
    assert claim(store, key=key) == InProgress()


@pytest.mark.parametrize("abandoned", [False, True], ids=["new", "abandoned"])
def test_of_processes_that_claim_at_once_one_wins(
    store: Store, child: Callable[..., subprocess.Popen[str]], *, abandoned: bool
) -> None:
    if abandoned:
        for at in range(50):
            claim(store, key=f"key-{at}", now=NOW)
    program = """
        from prompt_evaluator.app import request_keys
        store = Store.open(location)
        print("ready", flush=True)
        sys.stdin.readline()
        for at in range(50):
            found = request_keys.claim(store, f"key-{at}", "r", now="2026-01-31T12:02:00.000Z")
            if type(found).__name__ == "Claimed":
                print(at)
    """
    processes = [child(program) for _ in range(3)]
    for process in processes:
        assert process.stdout
        assert process.stdin
        process.stdout.readline()
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()

    won = [int(line) for process in processes for line in process.communicate(timeout=60)[0].split()]

    assert sorted(won) == list(range(50))
