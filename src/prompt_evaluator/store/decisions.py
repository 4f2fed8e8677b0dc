"""Stores decisions: baselines, and the gate's verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from prompt_evaluator.errors import PinnedRunError, StoreError, UnknownNameError
from prompt_evaluator.model.release import Baseline, Verdict
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import BASELINES, VERDICTS
from prompt_evaluator.store.texts import as_json, clean_or_none

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, RowMapping

_JSON = ("policy", "reasons")


class Decisions(Access):
    """Baselines and verdicts."""

    def pin(self, baseline: Baseline) -> None:
        """Pin a run under a name, replacing the previous baseline."""
        values = {**msgspec.structs.asdict(baseline), "note": clean_or_none(baseline.note)}
        with self._write() as connection:
            connection.execute(delete(BASELINES).where(BASELINES.c.name == baseline.name))
            try:
                connection.execute(insert(BASELINES).values(values))
            except IntegrityError as error:
                raise StoreError(
                    f"Run {baseline.run_id} cannot be pinned: {self._database.where} does not contain it."
                ) from error

    def unpin(self, name: str) -> None:
        with self._write() as connection:
            if not connection.execute(delete(BASELINES).where(BASELINES.c.name == name)).rowcount:
                raise UnknownNameError("baseline", name, connection.scalars(select(BASELINES.c.name)).all())

    def baselines(self) -> list[Baseline]:
        """All baselines, sorted by name."""
        with self._read() as connection:
            rows = connection.execute(select(BASELINES)).mappings().all()
        return sorted((Baseline(**row) for row in rows), key=lambda baseline: baseline.name)

    def add_verdict(self, verdict: Verdict) -> Verdict:
        """Store a verdict and return it with its id. Earlier verdicts are not changed."""
        values = {
            **_without_id(verdict),
            "policy": as_json(verdict.policy),
            "reasons": as_json(verdict.reasons),
        }
        with self._write() as connection:
            try:
                made = connection.execute(insert(VERDICTS).values(values).returning(VERDICTS.c.id)).scalar_one()
            except IntegrityError as error:
                raise StoreError(
                    f"The verdict on run {verdict.run_id} cannot be stored: {self._database.where} does not contain "
                    "this run."
                ) from error
        return msgspec.structs.replace(verdict, id=made)

    def latest_verdicts(self, run_ids: Sequence[str]) -> dict[str, Verdict]:
        """The newest verdict on each of these runs that has one."""
        wanted = select(VERDICTS).where(VERDICTS.c.run_id.in_(run_ids)).order_by(VERDICTS.c.id)
        with self._read() as connection:
            return {found.run_id: found for found in map(_made, connection.execute(wanted).mappings())}


def refuse_pinned(connection: Connection, run_id: str) -> None:
    """Raise `PinnedRunError` if the run is a baseline."""
    pins = connection.scalars(select(BASELINES.c.name).where(BASELINES.c.run_id == run_id)).all()
    if pins:
        raise PinnedRunError(run_id, pins)


def _without_id(verdict: Verdict) -> dict[str, Any]:
    values = msgspec.structs.asdict(verdict)
    del values["id"]
    return values


def _made(row: RowMapping) -> Verdict:
    return msgspec.convert(
        {str(name): msgspec.json.decode(value) if name in _JSON else value for name, value in row.items()}, Verdict
    )
