"""Units on their way into the store: in order, bounded, masked, and never lost in silence."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stores import ON_FILE, locked

from prompt_evaluator.errors import StoreError
from prompt_evaluator.store import LedgerWriter, Store
from prompt_evaluator.store.writer import CAPACITY

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from prompt_evaluator.model import RunRecord, Unit

    MakeUnit = Callable[..., Unit]


@pytest.fixture
def writer(store: Store, run_id: str) -> Iterator[LedgerWriter]:
    opened = store.writer(run_id)
    yield opened
    opened.close()


async def test_what_is_flushed_can_be_read_by_anyone(store: Store, writer: LedgerWriter, unit: MakeUnit) -> None:
    writer.put(unit())

    await writer.flush()

    assert writer.pending == 0
    assert store.units("run-0001", ["case-0"]) == {"case-0": [unit()]}


async def test_what_is_ok_stays_and_what_failed_is_replaced(store: Store, writer: LedgerWriter, unit: MakeUnit) -> None:
    put = [((True, True), 0), ((True, False), 0), ((False, True), 1), ((False, False), 1), ((False, True, False), 1)]
    for (number, (oks, kept)), together in product(enumerate(put), (True, False)):
        case_id = f"case-{2 * number + together}"
        for at, ok in enumerate(oks):
            writer.put(unit(case_id, ok=ok, data=b"%d" % at))
            if not together:
                await writer.flush()
        await writer.flush()

        found = store.units("run-0001", [case_id])[case_id]
        assert found == [unit(case_id, ok=oks[kept], data=b"%d" % kept)], (oks, together)


async def test_two_cases_with_the_same_text_are_two_units(store: Store, writer: LedgerWriter, unit: MakeUnit) -> None:
    writer.put(unit("case-1", b"same"))
    writer.put(unit("case-2", b"same"))
    await writer.flush()

    assert list(map(len, store.units("run-0001", ["case-1", "case-2"]).values())) == [1, 1]


async def test_twenty_thousand_units_never_wait_in_large_numbers_or_for_long(
    store: Store, run_id: str, unit: MakeUnit
) -> None:
    seconds: list[float] = []
    writer = store.writer(run_id, on_commit=seconds.append)
    most = 0

    for at in range(20_000):
        await writer.wait_for_capacity()
        writer.put(unit(f"case-{at % 10}", b"%d" % at, sample=at, data=b"x" * 1_000))
        most = max(most, writer.pending)
    await writer.flush()
    writer.close()

    assert most <= CAPACITY
    assert len(seconds) == 20_000
    assert sum(map(len, store.units(run_id, [f"case-{at}" for at in range(10)]).values())) == 20_000


async def test_closing_commits_what_is_left(store: Store, run_id: str, unit: MakeUnit) -> None:
    writer = store.writer(run_id)
    for at in range(5_000):
        writer.put(unit(name=b"%d" % at))
    writer.close()

    assert len(store.units(run_id, ["case-0"])["case-0"]) == 5_000
    with pytest.raises(StoreError, match="is closed"):
        writer.put(unit())


async def test_several_may_wait_at_once_and_one_may_give_up(writer: LedgerWriter, unit: MakeUnit) -> None:
    for at in range(3_000):
        writer.put(unit(name=b"%d" % at))
    waiting = [asyncio.create_task(wait()) for wait in (writer.flush, writer.wait_for_capacity) * 20]
    await asyncio.sleep(0)
    waiting[0].cancel()

    await asyncio.wait_for(asyncio.gather(*waiting[1:]), timeout=30)

    assert writer.pending == 0


async def test_a_store_that_is_locked_for_too_long_is_a_failure_that_everyone_is_told(
    store: Store, location: Path | str, run_id: str, unit: MakeUnit
) -> None:
    hasty = Store.open(location, patience=1.0)
    with locked(location):
        writer = hasty.writer(run_id)
        for at in range(CAPACITY):
            writer.put(unit(name=b"%d" % at))

        for wait in (writer.wait_for_capacity, writer.flush):
            with pytest.raises(StoreError, match=rf"{re.escape(str(location))} is locked by another process. Wait"):
                await asyncio.wait_for(wait(), timeout=30)
        with pytest.raises(StoreError, match="is locked"):
            writer.put(unit())
    writer.close()
    hasty.close()

    assert writer.pending == CAPACITY
    assert store.units(run_id, ["case-0"]) == {"case-0": []}


async def test_a_short_lock_is_waited_for_without_holding_up_the_loop(
    store: Store, location: Path | str, writer: LedgerWriter, unit: MakeUnit
) -> None:
    with locked(location):
        writer.put(unit())
        for _ in range(100):
            await asyncio.sleep(0)
        assert writer.pending == 1
    await writer.flush()

    assert store.units("run-0001", ["case-0"]) == {"case-0": [unit()]}


def test_a_failure_that_nobody_was_told_is_told_when_closing(
    store: Store, location: Path | str, unit: MakeUnit
) -> None:
    writer = store.writer("run-nowhere")
    writer.put(unit())

    constraint = "FOREIGN KEY constraint failed" if isinstance(location, Path) else ".* violates foreign key constraint"
    with pytest.raises(StoreError, match=f"{re.escape(str(location))} cannot be used: {constraint}"):
        writer.close()
    writer.close()


def test_a_closed_writer_leaves_no_thread(store: Store, run_id: str) -> None:
    writer = store.writer(run_id)
    writer.close()
    writer.close()

    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ledger")]


def test_a_program_that_ends_without_closing_neither_hangs_nor_loses(
    store: Store, run_id: str, child: Callable[..., subprocess.Popen[str]]
) -> None:
    process = child("""
        writer = Store.open(location).writer("run-0001")
        for at in range(3000):
            writer.put(unit(at))
    """)

    assert process.wait(timeout=30) == 0
    assert sum(map(len, store.units(run_id, [f"case-{at}" for at in range(10)]).values())) == 3_000


def test_any_number_of_writers_leave_the_store_to_its_readers(store: Store, record: Callable[..., RunRecord]) -> None:
    run_ids = [f"run-{at:02}" for at in range(20)]
    for run_id in run_ids:
        store.create_run(record(run_id), [])
    writers = [store.writer(run_id) for run_id in run_ids]

    read = [store.run(run_id).plan.run_id for run_id in run_ids]

    for writer in writers:
        writer.close()
    assert read == run_ids


@ON_FILE
def test_the_store_leaves_sqlite3_as_it_is_for_the_rest_of_the_process(store: Store) -> None:  # noqa: ARG001 - is open
    assert [kind for kind, _ in sqlite3.adapters if kind in (type(None), bool, bytes)] == []
