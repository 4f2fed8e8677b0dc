"""Finished units and cases on their way into the store: one thread, one connection, many of them per commit."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.store.inserts import insert_units
from prompt_evaluator.store.migrate import FAILURES, sentence
from prompt_evaluator.store.result_rows import CaseRows, FinishedCase, case_rows, has_rows, write_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection, Engine

    from prompt_evaluator.model import Unit
    from prompt_evaluator.model.result import CaseResult

CAPACITY = 512
"""How many units may wait for their commit before those who bring more have to wait.

A case counts as many as it has samples: its rows hold their texts until they are committed."""

_GATHER = 0.02
"""Seconds that a unit waits for company: a commit for one takes as many turns with the event loop as one for fifty."""
_MOST_PER_COMMIT = 1_024
_MORE_CASES = 4_096
_HELD_WEIGHT, _HOLD = 256, 0.2
"""Cases wait until they have so many samples together, or for so many seconds: rows of 50 cases at once take half
the time of those of five. Whoever waits for a commit ends that."""
_WATCH = 1.0
"""Seconds between looks at whether the program still runs."""


class _Item(NamedTuple):
    since: float
    row: tuple[Any, ...]
    """Of a unit, in the order of the table's columns."""
    weight: int = 1


class _Case(NamedTuple):
    rows: CaseRows
    weight: int


class LedgerWriter:
    """Commits units and results of one run in the order in which they were put, a case never before its units.

    Used from one thread or event loop.
    """

    def __init__(
        self,
        engine: Engine,
        where: str,
        run_id: str,
        *,
        flush_at: int,
        on_commit: Callable[[float], None] | None = None,
    ) -> None:
        """Start the thread.

        Args:
            engine: Whose transactions are for writing.
            where: The store, for people.
            run_id: The run that all units belong to.
            flush_at: So many units wait for no more company.
            on_commit: Is told, in the writer's thread, how many seconds each unit took from `put` to its commit.
        """
        self._engine, self._where, self._run_id = engine, where, run_id
        self._flush_at, self._on_commit = min(flush_at, CAPACITY // 2), on_commit
        self._queue: SimpleQueue[_Item | _Case | None] = SimpleQueue()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._held: list[_Case] = []
        self._new_run: bool | None = None
        """Whether the run had no rows before; known with the first case."""
        self._seen = bytearray()
        """By position, whether the rows of a case were written: a byte each, because there may be a million."""
        self._held_since = 0.0
        self._put = self._committed = 0
        self._closing = self._told = False
        self._failure: StoreError | None = None
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=f"ledger of {run_id}", daemon=False)
        self._thread.start()

    def put(self, unit: Unit) -> None:
        """Hand over a unit without waiting. Raise `StoreError` when the writer has failed."""
        if self._closing or self._failure:
            self._refuse(unit.case_id)
        data = REDACTOR.bytes(unit.data)
        row = (self._run_id, unit.case_id, unit.name, unit.kind, unit.sample, unit.repeat, unit.ok, data, unit.attempt)
        self._hand_over(_Item(perf_counter(), row))

    def put_case(self, position: int, case: CaseResult, judges: Mapping[str, str]) -> None:
        """Hand over a finished case without waiting; rows that it has from before are replaced.

        Args:
            position: Its place among the cases of the run.
            case: Its rows are made at once: beside a busy event loop, a thread that computes costs more than it saves.
            judges: By score, the model of the judge that gave it. May grow while the run goes on.
        """
        if self._closing or self._failure:
            self._refuse(case.test_case_id)
        rows = case_rows(self._run_id, FinishedCase(position, case, judges))
        self._hand_over(_Case(rows, max(1, len(case.samples))))

    def _hand_over(self, item: _Item | _Case) -> None:
        self._put += item.weight
        self._queue.put(item)
        if self._queue.qsize() == self._flush_at:
            self._bell.put(None)

    @property
    def pending(self) -> int:
        """Units and samples of cases that were put and are not committed yet."""
        return self._put - self._committed

    async def wait_for_capacity(self) -> None:
        """Wait while too many units are pending."""
        while self.pending >= CAPACITY:
            await self._progress(lambda: self.pending < CAPACITY)
        self._check()

    async def flush(self) -> None:
        """Wait until all that was put before is committed."""
        goal = self._put
        while self._committed < goal:
            await self._progress(lambda: self._committed >= goal)
        self._check()

    def close(self) -> None:
        """Commit what is left and end the thread. Raise `StoreError` if that failed and nobody was told yet."""
        self._closing = True
        self._queue.put(None)
        self._bell.put(None)
        self._thread.join()
        if not self._told:
            self._check()

    def _refuse(self, case_id: str) -> NoReturn:
        self._check()
        raise StoreError(f"The ledger of run {self._run_id} is closed; unit of case {case_id!r} came too late.")

    def _check(self) -> None:
        if self._failure:
            self._told = True
            raise StoreError(str(self._failure)) from self._failure

    async def _progress(self, reached: Callable[[], bool]) -> None:
        """Sleep until the next commit, unless the goal has been reached meanwhile."""
        self._check()
        waiter = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._waiting.append(waiter)
        try:
            # Looked at after signing up: a commit or a failure before that rings no bell.
            if not reached() and not self._failure:
                self._queue.put(None)  # cases that are held back are written now
                await waiter[1].wait()
        finally:
            with self._lock:
                if waiter in self._waiting:
                    self._waiting.remove(waiter)

    def _work(self) -> None:
        try:
            with self._engine.connect() as connection:
                while not (self._closing and self._queue.empty() and not self._held):
                    self._commit(connection, self._next())
        except FAILURES as error:
            self._failure = sentence(error, self._where)
        except BaseException:
            self._failure = StoreError(f"The ledger of run {self._run_id} stopped because of a bug, shown above.")
            raise
        finally:
            self._wake()

    def _next(self) -> list[_Item | _Case]:
        """All that waits, or nothing if there was nothing for a while, or only somebody who waits."""
        batch: list[_Item | _Case] = []
        try:
            item = self._queue.get(timeout=_HOLD if self._held else _WATCH)
            self._gather()
            while True:
                if item:
                    batch.append(item)
                if len(batch) == _MOST_PER_COMMIT:
                    return batch
                item = self._queue.get_nowait()
        except Empty:
            # A program that ends without closing still gets its units committed, and does not hang.
            self._closing |= not threading.main_thread().is_alive()
            return batch

    def _gather(self) -> None:
        until = perf_counter() + _GATHER
        # The bell may have rung for units of an earlier commit.
        while not self._closing and self._queue.qsize() < self._flush_at and (left := until - perf_counter()) > 0:
            with suppress(Empty):
                self._bell.get(timeout=left)

    def _commit(self, connection: Connection, batch: list[_Item | _Case]) -> None:
        self._commit_units(connection, [item for item in batch if isinstance(item, _Item)])
        if cases := self._due([item for item in batch if isinstance(item, _Case)]):
            # Right behind the units, not with them: what was paid for does not wait for what can be made again.
            with connection.begin():
                self._write_rows(connection, [case.rows for case in cases])
            self._committed += sum(case.weight for case in cases)
            self._wake()

    def _write_rows(self, connection: Connection, cases: list[CaseRows]) -> None:
        """In most runs a case comes once. Only where one may have come before are its rows looked for."""
        if self._new_run is None:
            self._new_run = not has_rows(connection, self._run_id)
        again = False
        for case in cases:
            if case.position >= len(self._seen):
                self._seen.extend(bytes(case.position + _MORE_CASES - len(self._seen)))
            again |= bool(self._seen[case.position])
            self._seen[case.position] = 1
        write_cases(connection, self._run_id, cases, new=self._new_run and not again)

    def _commit_units(self, connection: Connection, units: list[_Item]) -> None:
        if not units:
            return
        with connection.begin():
            insert_units(connection, _rows(units))
        self._committed += len(units)
        self._wake()
        if self._on_commit:
            now = perf_counter()
            for item in units:
                self._on_commit(now - item.since)

    def _due(self, new: list[_Case]) -> list[_Case]:
        """The cases whose rows are to be written now, the new ones among them or not."""
        if new and not self._held:
            self._held_since = perf_counter()
        self._held += new
        enough = sum(case.weight for case in self._held) >= _HELD_WEIGHT
        if not (enough or self._closing or self._waiting or perf_counter() - self._held_since >= _HOLD):
            return []
        due, self._held = self._held, []
        return due

    def _wake(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for loop, event in waiting:
            with suppress(RuntimeError):  # a loop that was closed has nobody left who waits
                loop.call_soon_threadsafe(event.set)


def _rows(batch: list[_Item]) -> list[tuple[Any, ...]]:
    """One row per key, as a statement may not touch a row twice: the first that is ok, or else the last."""
    rows = [item.row for item in batch]
    if len({row[1:3] for row in rows}) == len(rows):
        return rows
    chosen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows:
        before = chosen.get(row[1:3])
        if before is None or not before[6]:
            chosen[row[1:3]] = row
    return list(chosen.values())
