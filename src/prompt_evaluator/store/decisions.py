"""Stores decisions of people and servers: baselines, the gate's verdicts, and queued requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from prompt_evaluator.errors import PinnedRunError, StoreError, UnknownNameError
from prompt_evaluator.model.queue import QueuedRequest
from prompt_evaluator.model.release import Baseline, Verdict
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import BASELINES, QUEUE, VERDICTS
from prompt_evaluator.store.texts import as_json, clean, clean_or_none

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping

    from prompt_evaluator.model.queue import QueueState

_T = TypeVar("_T")
_JSON = ("policy", "reasons", "request")


class Decisions(Access):
    """Baselines, verdicts and the queue."""

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

    def verdicts(self, run_id: str | None = None, *, limit: int | None = None) -> list[Verdict]:
        """Verdicts on one run, or all, newest first."""
        wanted = select(VERDICTS).order_by(VERDICTS.c.id.desc()).limit(limit)
        if run_id is not None:
            wanted = wanted.where(VERDICTS.c.run_id == run_id)
        with self._read() as connection:
            return [_made(Verdict, row) for row in connection.execute(wanted).mappings()]

    def enqueue(self, request: dict[str, Any], *, requested_at: str) -> QueuedRequest:
        """Append a request to the queue."""
        values = {"state": "waiting", "requested_at": requested_at, "request": as_json(request)}
        with self._write() as connection:
            row = connection.execute(insert(QUEUE).values(values).returning(*QUEUE.c)).mappings().one()
            return _made(QueuedRequest, row)

    def take_next(self, *, started_at: str) -> QueuedRequest | None:
        """Claim the oldest waiting request for this process; None if there is none."""
        oldest = select(QUEUE.c.id).where(QUEUE.c.state == "waiting").order_by(QUEUE.c.id).limit(1)
        with self._write() as connection:
            # A file has one writer at a time; on a server, two processes must not claim the same request.
            found = connection.scalar(oldest.with_for_update(skip_locked=True))
            if found is None:
                return None
            values = {"state": "started", "started_at": started_at}
            taken = update(QUEUE).where(QUEUE.c.id == found).values(values).returning(*QUEUE.c)
            return _made(QueuedRequest, connection.execute(taken).mappings().one())

    def finish_request(
        self, request_id: int, *, ended_at: str, run_id: str | None = None, error: str | None = None
    ) -> None:
        """Record the outcome of a request: its run, or why there is none."""
        state: QueueState = "failed" if error else "done"
        values = {"state": state, "ended_at": ended_at, "error": clean(error) if error else None}
        if run_id is not None:
            values["run_id"] = run_id
        self._set_request(request_id, values)

    def link_request(self, request_id: int, run_id: str) -> None:
        """Record the run of a request that is in progress."""
        self._set_request(request_id, {"run_id": run_id})

    def queue(self, state: QueueState | None = None, *, limit: int | None = None) -> list[QueuedRequest]:
        """Requests, oldest first."""
        wanted = select(QUEUE).order_by(QUEUE.c.id).limit(limit)
        if state is not None:
            wanted = wanted.where(QUEUE.c.state == state)
        with self._read() as connection:
            return [_made(QueuedRequest, row) for row in connection.execute(wanted).mappings()]

    def _set_request(self, request_id: int, values: dict[str, Any]) -> None:
        with self._write() as connection:
            if not connection.execute(update(QUEUE).where(QUEUE.c.id == request_id).values(values)).rowcount:
                raise StoreError(f"The queue of {self._database.where} has no request {request_id}.")


def delete_decisions(connection: Connection, run_id: str) -> None:
    """Delete the verdicts on a run, or refuse if it is a baseline."""
    pins = connection.scalars(select(BASELINES.c.name).where(BASELINES.c.run_id == run_id)).all()
    if pins:
        raise PinnedRunError(run_id, pins)
    connection.execute(delete(VERDICTS).where(VERDICTS.c.run_id == run_id))


def _without_id(verdict: Verdict) -> dict[str, Any]:
    values = msgspec.structs.asdict(verdict)
    del values["id"]
    return values


def _made(kind: type[_T], row: RowMapping) -> _T:
    return msgspec.convert(
        {str(name): msgspec.json.decode(value) if name in _JSON else value for name, value in row.items()}, kind
    )
