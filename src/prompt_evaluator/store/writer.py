"""Writes finished units and cases to the store: one thread, one connection, many units per commit."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from prompt_evaluator.errors import OwnershipLostError, StoreError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.store.case_batches import CaseBatches
from prompt_evaluator.store.case_columns import delete_columns
from prompt_evaluator.store.database import FAILURES, sentence
from prompt_evaluator.store.fence import check_owner
from prompt_evaluator.store.inserts import insert_units
from prompt_evaluator.store.result_rows import FinishedCase, has_rows, write_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection, Engine

    from prompt_evaluator.model import Unit
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store.case_batches import CaseBatch
    from prompt_evaluator.store.ownership import Held

CAPACITY = 512
"""How many uncommitted units may be queued before callers have to wait: what a crash can lose."""
CASE_CAPACITY = 1_024
"""How many samples of uncommitted cases may be queued beside them. They hold texts, but can be made again."""

_STALLED = 0.3
"""Seconds without a commit after which callers wait while half a window of units is pending: what is paid for now may
never be stored, as when the server does not answer. Commits usually take less."""
_GATHER = 0.02
"""Seconds that a unit waits for others: committing one contends with the event loop as often as committing fifty."""
_MORE_CASES = 4_096
_WATCH = 1.0
"""Seconds between checks that the main thread is still alive."""


class _Item(msgspec.Struct, frozen=True, gc=False):
    since: float
    row: tuple[Any, ...]
    """A unit's values, in the order of the table's columns."""


class LedgerWriter:
    """Commits units and results of one run in the order they were put, a case never before its units.

    Used from one thread or event loop.
    """

    def __init__(  # noqa: PLR0913 - only the store makes one
        self,
        engine: Engine,
        where: str,
        run_id: str,
        *,
        lease: Held | None,
        flush_at: int,
        on_commit: Callable[[float], None] | None = None,
    ) -> None:
        """Start the thread.

        Args:
            engine: An engine whose transactions are for writing.
            where: The store's location, for messages.
            run_id: The run of all units.
            lease: The run, if this process owns it: nothing is written once another process has it.
            flush_at: Commit as soon as this many units are queued.
            on_commit: Called in the writer's thread with each unit's seconds from `put` to commit.
        """
        self._engine, self._where, self._run_id, self._lease = engine, where, run_id, lease
        self._flush_at, self._on_commit = min(flush_at, CAPACITY // 2), on_commit
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._batches = CaseBatches()
        """Apart from units: enough units are a reason to commit, but cases are not. They are written at once if a
        caller waits for a commit."""
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._new_run: bool | None = None
        """Whether the run had no rows before; set when the first case is written."""
        self._seen = bytearray()
        """Whether a case's rows were written, indexed by position; one byte each, because there may be a million."""
        self._put = self._committed = 0
        self._put_cases = self._committed_cases = 0
        """Of these, the samples of cases."""
        self._moved = perf_counter()
        """When something was last committed, or put while nothing was pending."""
        self._closing = self._reported = False
        self._failure: StoreError | None = None
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=f"ledger of {run_id}", daemon=False)
        self._thread.start()

    def put(self, unit: Unit) -> None:
        """Queue a unit without waiting. Raise `StoreError` if the writer has failed."""
        if self._closing or self._failure:
            self._refuse(unit.case_id)
        data = REDACTOR.json(unit.data)
        row = (self._run_id, unit.case_id, unit.name, unit.kind, unit.sample, unit.repeat, unit.ok, data, unit.attempt)
        self._count(1)
        self._queue.put(_Item(perf_counter(), row))
        if self._queue.qsize() == self._flush_at:
            self._bell.put(None)

    def put_case(self, position: int, case: CaseResult, judges: Mapping[str, str]) -> None:
        """Queue a case's result without waiting; it replaces any existing rows of the case.

        Args:
            position: Position among the cases of the run.
            case: The result.
            judges: Maps score name to judge model. May grow during the run.
        """
        if self._closing or self._failure:
            self._refuse(case.test_case_id)
        finished = FinishedCase(position, case, judges)
        wakes = self._batches.put(self._run_id, finished)
        self._count(finished.weight)
        self._put_cases += finished.weight
        if wakes and self._queue.empty():
            self._queue.put(None)  # wake the thread, for which the case's own units are usually a reason already

    def _count(self, weight: int) -> None:
        if self._put == self._committed:
            self._moved = perf_counter()
        self._put += weight

    @property
    def pending(self) -> int:
        """How many units and samples of cases are not committed yet."""
        return self._put - self._committed

    async def wait_for_capacity(self) -> None:
        """Wait while too many units are pending, or some are and commits have stalled."""
        if self._put - self._committed >= self._flush_at:  # otherwise there is room, whatever else is true
            while self._is_full():
                await self._progress(lambda: not self._is_full())
        self._check()

    def _is_full(self) -> bool:
        cases = self._put_cases - self._committed_cases
        units = self._put - self._committed - cases
        stalled = units >= self._flush_at and perf_counter() - self._moved > _STALLED
        return stalled or units >= CAPACITY or cases >= CASE_CAPACITY

    async def flush(self) -> None:
        """Wait until everything put so far is committed."""
        goal = self._put
        while self._committed < goal:
            await self._progress(lambda: self._committed >= goal)
        self._check()

    def close(self) -> None:
        """Commit the rest and end the thread. Raise `StoreError` if a write failed and it was not reported yet."""
        self._closing = True
        self._queue.put(None)
        self._bell.put(None)
        self._thread.join()
        if not self._reported:
            self._check()

    def _refuse(self, case_id: str) -> NoReturn:
        self._check()
        raise StoreError(f"The ledger of run {self._run_id} is closed; it cannot take results of case {case_id!r}.")

    def _check(self) -> None:
        if self._failure:
            self._reported = True
            raise type(self._failure)(str(self._failure)) from self._failure

    async def _progress(self, reached: Callable[[], bool]) -> None:
        """Sleep until the next commit, unless the goal has already been reached."""
        self._check()
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting.append(waiter)
        try:
            # Check after registering: an earlier commit or failure would not wake us.
            if not reached() and not self._failure:
                self._queue.put(None)  # flush cases that are held back
                await waiter[1].wait()
        finally:
            with self._lock:
                if waiter in self._waiting:
                    self._waiting.remove(waiter)

    def _work(self) -> None:
        try:
            with self._engine.connect() as connection:
                connection.detach()  # kept for the whole run, so it takes no place in the pool
                while not (self._closing and self._queue.empty() and self._batches.is_empty):
                    self._commit(connection, *self._next())
        except FAILURES as error:
            self._failure = sentence(error, self._where)
        except OwnershipLostError as error:
            self._failure = error
        except BaseException:
            self._failure = StoreError(f"The ledger of run {self._run_id} stopped because of a bug, shown above.")
            raise
        finally:
            self._wake()

    def _next(self) -> tuple[list[_Item], list[CaseBatch]]:
        """Return units and cases to commit; nothing after a time-out, or if only a waiting caller woke the thread.

        Cases are taken before units, so that all units of these cases are among the units, or committed already.
        """
        first: _Item | None = None
        left = self._batches.seconds_left()
        with suppress(Empty):
            first = self._queue.get(timeout=_WATCH if left is None else left)
            self._gather()
        # If the program ends without `close`, its units are still committed, and it does not hang.
        self._closing |= not threading.main_thread().is_alive()
        batches = self._batches.take(everything=self._closing or bool(self._waiting))
        units = [first] if first else []
        with suppress(Empty):
            while True:
                if item := self._queue.get_nowait():
                    units.append(item)
        return units, batches

    def _gather(self) -> None:
        until = perf_counter() + _GATHER
        # The bell may have been for units of an earlier commit.
        while not self._closing and self._queue.qsize() < self._flush_at and (left := until - perf_counter()) > 0:
            with suppress(Empty):
                self._bell.get(timeout=left)

    def _commit(self, connection: Connection, units: list[_Item], batches: list[CaseBatch]) -> None:
        self._commit_units(connection, units)
        if batches:
            # Right after the units, not with them: paid results must not wait for rows that can be rebuilt.
            with connection.begin():
                check_owner(connection, self._lease, shared=True)
                for batch in batches:
                    self._write_rows(connection, batch)
            weight = sum(batch.weight for batch in batches)
            self._committed += weight
            self._committed_cases += weight
            self._moved = perf_counter()
            self._wake()

    def _write_rows(self, connection: Connection, batch: CaseBatch) -> None:
        """Write rows, looking for existing ones only if a case may have been written before, which is rare."""
        if self._new_run is None:
            self._new_run = not has_rows(connection, self._run_id)
            delete_columns(connection, self._run_id)
        again = False
        for position in batch.rows.positions:
            if position >= len(self._seen):
                self._seen.extend(bytes(position + _MORE_CASES - len(self._seen)))
            again |= bool(self._seen[position])
            self._seen[position] = 1
        write_cases(connection, self._run_id, batch.rows, new=self._new_run and not again)

    def _commit_units(self, connection: Connection, units: list[_Item]) -> None:
        if not units:
            return
        with connection.begin():
            check_owner(connection, self._lease, shared=True)
            insert_units(connection, _rows(units))
        self._committed += len(units)
        self._moved = perf_counter()
        self._wake()
        if self._on_commit:
            now = perf_counter()
            for item in units:
                self._on_commit(now - item.since)

    def _wake(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for loop, event in waiting:
            with suppress(RuntimeError):  # the loop is closed, so nothing waits there any more
                loop.call_soon_threadsafe(event.set)


def _rows(batch: list[_Item]) -> list[tuple[Any, ...]]:
    """Keep one row per key, because a statement may not touch a row twice: the first ok one, otherwise the last."""
    rows = [item.row for item in batch]
    if len({row[1:3] for row in rows}) == len(rows):
        return rows
    chosen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows:
        before = chosen.get(row[1:3])
        if before is None or not before[6]:
            chosen[row[1:3]] = row
    return list(chosen.values())
