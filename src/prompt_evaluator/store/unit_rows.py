"""Reads units from the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import literal_column, select

from prompt_evaluator.model import Unit
from prompt_evaluator.store.schema import RUNS, UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

T = TypeVar("T")
_CHUNK = 256
_UNIT = [UNITS.c[column] for column in ("case_id", "name", "kind", "sample", "repeat", "ok", "data", "attempt")]


def read_units(connection: Connection, run_id: str, case_ids: Sequence[str]) -> dict[str, list[Unit]]:
    """Finished units by case id, ordered by kind, sample, attempt and repeat; an empty list if there are none."""
    found: dict[str, list[Unit]] = {case_id: [] for case_id in case_ids}
    order = (UNITS.c.kind, UNITS.c.sample, UNITS.c.attempt, UNITS.c.repeat, UNITS.c.name)
    for chunk in chunks(list(found)):
        wanted = select(*_UNIT).where(UNITS.c.run_id == run_id, UNITS.c.case_id.in_(chunk)).order_by(*order)
        for row in connection.execute(wanted):
            found[row[0]].append(_unit(row))
    return found


def index_names(connection: Connection) -> None:
    """Let units of a file be found by name quickly; on a server they always are. See the index in `schema`."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS ix_units_name ON units (name)")


def find_units(connection: Connection, names: Sequence[bytes], *, prepared: bool = False) -> dict[bytes, Unit]:
    """Successful units of any run with one of these names; if several have one name, that of the newest run.

    Args:
        connection: In a store whose names are indexed, unless only preparations are wanted.
        names: Names of units.
        prepared: Whether to look among the preparations only.
    """
    found: dict[bytes, Unit] = {}
    order = (RUNS.c.started_at, RUNS.c.run_id, UNITS.c.case_id)
    every = select(*_UNIT).join(RUNS, RUNS.c.run_id == UNITS.c.run_id).where(UNITS.c.ok).order_by(*order)
    if prepared:
        every = every.where(UNITS.c.case_id == literal_column("''"))  # not bound, so that SQLite can use the index
    for chunk in chunks(list(dict.fromkeys(names))):
        units = map(_unit, connection.execute(every.where(UNITS.c.name.in_(chunk))))
        found.update((unit.name, unit) for unit in units)
    return found


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split items into chunks small enough for one statement."""
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]


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
