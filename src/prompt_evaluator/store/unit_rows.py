"""Reads units from the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import select

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


def find_units(connection: Connection, names: Sequence[bytes]) -> dict[bytes, Unit]:
    """Successful units of any run with one of these names; if several have one name, that of the newest run."""
    found: dict[bytes, Unit] = {}
    order = (RUNS.c.started_at, RUNS.c.run_id, UNITS.c.case_id)
    every = select(*_UNIT).join(RUNS, RUNS.c.run_id == UNITS.c.run_id).where(UNITS.c.ok).order_by(*order)
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
