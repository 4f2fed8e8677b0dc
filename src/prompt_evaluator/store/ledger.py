"""The ledger: runs, their cases, and every finished unit of work."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec
from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from prompt_evaluator.errors import StoreError, UnknownNameError
from prompt_evaluator.model import REDACTOR, RunPlan, RunRecord, TestCase, Unit
from prompt_evaluator.store.labels import delete_labels, insert_labels, read_labels
from prompt_evaluator.store.migrate import Database, explained, open_database
from prompt_evaluator.store.schema import CASES, RUNS, UNITS, insert_cases
from prompt_evaluator.store.writer import LedgerWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from prompt_evaluator.model import Label, RunStatus

_T = TypeVar("_T")
_CHUNK = 256
_SHORTEST_PREFIX = 4
_SHOWN = 10
_LOOKED_AT = 1_000
_UNIT = [UNITS.c[column] for column in ("case_id", "name", "kind", "sample", "repeat", "ok", "data", "attempt")]


class StoredCase(NamedTuple):
    """A case of a run and its place in the file, counted from 0 over the selected cases."""

    position: int
    case: TestCase


class Store:
    """Where runs live. Every method may be called from any thread and raises `StoreError` when the store fails."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = database.engine
        self._writing = database.engine.execution_options(writes=True)

    @classmethod
    def open(cls, location: Path | str, *, patience: float = 30.0) -> Self:
        """Open a store, or make it if there is nothing; what cannot be read is refused and left as it is.

        Args:
            location: A file, or the address of a PostgreSQL database.
            patience: Seconds to wait for the locks of other processes.
        """
        return cls(open_database(location, patience=patience))

    def create_run(self, record: RunRecord, cases: Iterable[TestCase]) -> None:
        """Keep a new run with all its cases, or nothing of it. `cases` may be a stream of any length."""
        run_id = record.plan.run_id
        rows = ((run_id, at, case.id, msgspec.json.encode(case)) for at, case in enumerate(cases))
        with self._write() as connection:
            try:
                connection.execute(insert(RUNS).values(_run_row(record)))
                while chunk := list(islice(rows, _CHUNK)):
                    insert_cases(connection, chunk)
            except IntegrityError as error:
                raise StoreError(
                    f"Run {run_id} cannot be added to {self._database.where}: it is there already, or two of its cases "
                    "have the same id. Nothing was changed."
                ) from error

    def run(self, run_id: str) -> RunRecord:
        """The run with this id, or the only one whose id begins like this."""
        with self._read() as connection:
            full = self._full_id(connection, run_id)
            row = connection.execute(select(RUNS).where(RUNS.c.run_id == full)).one()
        return self._record(row)

    def runs(self, limit: int | None = None) -> list[RunRecord]:
        """All runs, the newest first."""
        newest = select(RUNS).order_by(RUNS.c.started_at.desc(), RUNS.c.run_id.desc()).limit(limit)
        with self._read() as connection:
            return [self._record(row) for row in connection.execute(newest)]

    def update_run(
        self, run_id: str, *, status: RunStatus, ended_at: str | None = None, stop_reason: str | None = None
    ) -> None:
        """Say how the run stands; the end and the reason of an earlier stop are replaced, also by nothing."""
        # A service's own words may have a character that PostgreSQL refuses.
        reason = REDACTOR.text(stop_reason).replace("\x00", "�") if stop_reason else stop_reason
        values = {"status": status, "ended_at": ended_at, "stop_reason": reason}
        with self._write() as connection:
            if not connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(values)).rowcount:
                raise self._unknown(connection, run_id)

    def cases(self, run_id: str, *, start: int = 0, limit: int = 256) -> list[StoredCase]:
        """Cases in file order, from a position on."""
        wanted = select(CASES.c.position, CASES.c.data).where(CASES.c.run_id == run_id, CASES.c.position >= start)
        with self._read() as connection:
            rows = connection.execute(wanted.order_by(CASES.c.position).limit(limit)).all()
        with self._readable(run_id):
            return [StoredCase(position, _CASE.decode(data)) for position, data in rows]

    def case_count(self, run_id: str) -> int:
        with self._read() as connection:
            return connection.scalar(select(func.count()).where(CASES.c.run_id == run_id)) or 0

    def units(self, run_id: str, case_ids: Sequence[str]) -> dict[str, list[Unit]]:
        """What is finished of these cases, in the order of kind, sample, attempt and repeat; empty where nothing is."""
        found: dict[str, list[Unit]] = {case_id: [] for case_id in case_ids}
        order = (UNITS.c.kind, UNITS.c.sample, UNITS.c.attempt, UNITS.c.repeat, UNITS.c.name)
        with self._read() as connection:
            for chunk in _chunks(list(found)):
                wanted = select(*_UNIT).where(UNITS.c.run_id == run_id, UNITS.c.case_id.in_(chunk)).order_by(*order)
                for row in connection.execute(wanted):
                    found[row[0]].append(_unit(row))
        return found

    def has_failures(self, run_id: str) -> bool:
        """Whether anything of the run gave nothing, such as one of several judgements of an answer that has others."""
        failed = select(UNITS.c.name).where(UNITS.c.run_id == run_id, ~UNITS.c.ok).limit(1)
        with self._read() as connection:
            return connection.execute(failed).first() is not None

    def finished(self, names: Sequence[bytes]) -> dict[bytes, Unit]:
        """Units of any run that are ok and have one of these names; that of the newest run if there are several."""
        found: dict[bytes, Unit] = {}
        order = (RUNS.c.started_at, RUNS.c.run_id, UNITS.c.case_id)
        every = select(*_UNIT).join(RUNS, RUNS.c.run_id == UNITS.c.run_id).where(UNITS.c.ok).order_by(*order)
        with self._read() as connection:
            for chunk in _chunks(list(dict.fromkeys(names))):
                units = map(_unit, connection.execute(every.where(UNITS.c.name.in_(chunk))))
                found.update((unit.name, unit) for unit in units)
        return found

    def add_labels(self, labels: Iterable[Label]) -> None:
        """Keep labels, all of them or none. Nothing that is there is changed: a new opinion is one more label."""
        with self._write() as connection:
            try:
                insert_labels(connection, labels)
            except IntegrityError as error:
                raise StoreError(
                    f"The labels cannot be added to {self._database.where}: it does not have their run. "
                    "Nothing was changed."
                ) from error

    def labels(self, run_id: str | None = None) -> list[Label]:
        """The labels of a run, or all, in the order in which they were added."""
        with self._read() as connection:
            return read_labels(connection, run_id)

    def delete_run(self, run_id: str, *, with_labels: bool = False) -> None:
        """Forget a run and all its units. Refused while it is being worked on, and when its labels are to stay."""
        with self.own(run_id), self._write() as connection:
            delete_labels(connection, run_id, allowed=with_labels)
            for table in (UNITS, CASES):
                connection.execute(delete(table).where(table.c.run_id == run_id))
            if not connection.execute(delete(RUNS).where(RUNS.c.run_id == run_id)).rowcount:
                raise self._unknown(connection, run_id)

    def writer(
        self, run_id: str, *, flush_at: int = 16, on_commit: Callable[[float], None] | None = None
    ) -> LedgerWriter:
        """Start committing units of a run that is in the store. Close it before the store."""
        return LedgerWriter(self._writing, self._database.where, run_id, flush_at=flush_at, on_commit=on_commit)

    @contextmanager
    def own(self, run_id: str) -> Iterator[None]:
        """Be the one process that works on this run, or raise `RunBusyError`, which says who does."""
        with ExitStack() as held:
            with explained(self._database.where):
                held.enter_context(self._database.ownership.own(run_id))
            yield

    def owner(self, run_id: str) -> str | None:
        """Who works on this run now, such as `process 12 on host since 2025-01-01T00:00:00Z`."""
        with explained(self._database.where):
            return self._database.ownership.owner(run_id)

    def close(self) -> None:
        self._database.engine.dispose()

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with explained(self._database.where), self._reading.connect() as connection:
            yield connection

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with explained(self._database.where), self._writing.begin() as connection:
            yield connection

    @contextmanager
    def _readable(self, run_id: str) -> Iterator[None]:
        try:
            yield
        except msgspec.DecodeError as error:
            raise StoreError(
                f"Run {run_id} in {self._database.where} cannot be read: {error}. It was left as it is; another "
                "version of prompt-evaluator may have written it."
            ) from error

    def _record(self, row: Row[Any]) -> RunRecord:
        with self._readable(row.run_id):
            plan = _PLAN.decode(row.plan)
        return RunRecord(
            plan=plan,
            status=row.status,
            started_at=row.started_at,
            ended_at=row.ended_at,
            stop_reason=row.stop_reason,
        )

    def _full_id(self, connection: Connection, run_id: str) -> str:
        if connection.scalar(select(RUNS.c.run_id).where(RUNS.c.run_id == run_id)):
            return run_id
        begins = func.substr(RUNS.c.run_id, 1, len(run_id)) == run_id
        matches = connection.scalars(
            select(RUNS.c.run_id).where(begins).order_by(RUNS.c.run_id).limit(_SHOWN + 1)
        ).all()
        if not matches or len(run_id) < _SHORTEST_PREFIX:
            raise self._unknown(connection, run_id)
        if len(matches) > 1:
            more = ", …" if len(matches) > _SHOWN else ""
            known = ", ".join(matches[:_SHOWN]) + more
            raise StoreError(f"{run_id!r} is the beginning of several runs: {known}. Write more of the id.")
        return str(matches[0])

    def _unknown(self, connection: Connection, run_id: str) -> UnknownNameError:
        newest = connection.scalars(
            select(RUNS.c.run_id).order_by(RUNS.c.started_at.desc(), RUNS.c.run_id.desc()).limit(_LOOKED_AT)
        ).all()
        near = get_close_matches(run_id, newest, n=3, cutoff=0.5)
        return UnknownNameError("run", run_id, near or newest[:_SHOWN])


_PLAN = msgspec.json.Decoder(RunPlan)
_CASE = msgspec.json.Decoder(TestCase)


def _run_row(record: RunRecord) -> dict[str, Any]:
    plan = record.plan
    return {
        "run_id": plan.run_id,
        "group_id": plan.group_id,
        "parent_run_id": plan.parent_run_id,
        "status": record.status,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "stop_reason": record.stop_reason,
        "plan": REDACTOR.bytes(msgspec.json.encode(plan)),
    }


def _unit(row: Sequence[Any]) -> Unit:
    case_id, name, kind, sample, repeat, ok, data, attempt = row
    return Unit(
        case_id=case_id,
        name=bytes(name),
        kind=kind,
        sample=sample,
        attempt=attempt,
        repeat=repeat,
        ok=ok,
        data=bytes(data),
    )


def _chunks(items: list[_T]) -> Iterator[list[_T]]:
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]
