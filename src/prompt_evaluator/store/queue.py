"""Stores which runs wait for a worker, and which are to stop. All servers and workers of a store share one queue."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import case, exists, func, insert, select, update

from prompt_evaluator.errors import RunBusyError, StoreError
from prompt_evaluator.model.queue import QueuedRequest
from prompt_evaluator.model.run import NOT_STARTED
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import QUEUE
from prompt_evaluator.store.run_names import unknown_run
from prompt_evaluator.store.schema import RUNS
from prompt_evaluator.store.texts import as_json, clean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping

    from prompt_evaluator.model.queue import QueueState

_JSON = "request"
_GONE = "its worker has ended"
_OPEN: tuple[QueueState, ...] = ("waiting", "started")


class Queue(Access):
    """Requests for runs, in order, and requests to stop them."""

    def enqueue(self, request: dict[str, Any], *, requested_at: str, run_id: str | None = None) -> QueuedRequest:
        """Append a request to the queue; the run itself is not changed."""
        with self._write() as connection:
            return _added(connection, request, requested_at, run_id)

    def enqueue_all(self, requests: Mapping[str, dict[str, Any]], *, requested_at: str) -> None:
        """Append the requests for these runs to the queue, all or none; the runs themselves are not changed."""
        with self._write() as connection:
            for run_id, request in requests.items():
                _added(connection, request, requested_at, run_id)

    def requeue(self, run_id: str, request: dict[str, Any], *, requested_at: str) -> QueuedRequest:
        """Let a run that no process works on wait for a worker. One that already waits keeps its place.

        Raises:
            RunBusyError: A process works on it.
        """
        of_run = QUEUE.c.run_id == run_id
        waiting = select(QUEUE).where(of_run, QUEUE.c.state == "waiting").order_by(QUEUE.c.id).limit(1)
        values = {"status": "queued", "ended_at": None, "stop_reason": None, "stop_requested": None}
        with self.own(run_id), self._write_run(run_id) as connection:
            status = connection.scalar(select(RUNS.c.status).where(RUNS.c.run_id == run_id).with_for_update())
            if status is None:
                raise unknown_run(connection, run_id)
            if status == "queued" and (row := connection.execute(waiting).mappings().first()):
                return _made(row)
            _close(connection, run_id, _OPEN, requested_at)  # such as that of a worker that was killed
            connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(values))
            return _added(connection, request, requested_at, run_id)

    def take_next(
        self, *, started_at: str, worker: str | None = None, busy: Collection[int] = ()
    ) -> QueuedRequest | None:
        """Claim a waiting request for this process; None if there is none.

        It is the oldest of the person who has the fewest runs in progress and, of several, was served least recently.

        Args:
            started_at: The time now.
            worker: A name that this process owns while it is there; see `lost_requests`.
            busy: Numbers of requests that this process still works on. One that it has lost may wait again.
        """
        # A file has one writer at a time; on a server, two processes must not claim the same request.
        free = (QUEUE.c.state == "waiting", QUEUE.c.id.not_in(busy))
        turn = select(QUEUE.c.id).where(*free).order_by(*_fair_order()).limit(1)
        with self._write() as connection:
            found = connection.scalar(turn.with_for_update(skip_locked=True))
            if found is None:
                return None
            values = {"state": "started", "started_at": started_at, "worker": worker}
            taken = update(QUEUE).where(QUEUE.c.id == found).values(values).returning(*QUEUE.c)
            return _made(connection.execute(taken).mappings().one())

    def lost_requests(self, worker: str, busy: Collection[int]) -> list[QueuedRequest]:
        """Started requests that nobody works on: neither is the worker there that took it, nor an owner of its run.

        Args:
            worker: This process, which works on the requests in `busy` and on no others.
            busy: Numbers of requests.
        """
        started = [each for each in self.queue("started") if each.run_id is not None and each.id not in busy]
        names = {name for each in started for name in (each.run_id, each.worker) if name is not None}
        there = self.owners(names) if names else {}
        return [
            each for each in started if each.run_id not in there and (each.worker == worker or each.worker not in there)
        ]

    def finish_request(
        self, request_id: int, *, ended_at: str, error: str | None = None, worker: str | None = None
    ) -> None:
        """Record the outcome of a request.

        Args:
            request_id: The request.
            ended_at: The time now.
            error: Why its run could not be made.
            worker: Who took the request. If another worker has taken it since, nothing is changed.
        """
        state: QueueState = "failed" if error else "done"
        values = {"state": state, "ended_at": ended_at, "error": clean(error) if error else None}
        this = (QUEUE.c.id == request_id, *([QUEUE.c.worker == worker] if worker is not None else ()))
        with self._write() as connection:
            if not connection.execute(update(QUEUE).where(*this).values(values)).rowcount and worker is None:
                raise StoreError(f"The queue of {self._database.where} has no request {request_id}.")

    def queue(self, state: QueueState | None = None, *, limit: int | None = None) -> list[QueuedRequest]:
        """Requests, oldest first."""
        wanted = select(QUEUE).order_by(QUEUE.c.id).limit(limit)
        if state is not None:
            wanted = wanted.where(QUEUE.c.state == state)
        with self._read() as connection:
            return [_made(row) for row in connection.execute(wanted).mappings()]

    def requested_at(self, run_ids: Sequence[str]) -> dict[str, str]:
        """When each of these runs was first asked for; only those that were queued."""
        wanted = select(QUEUE.c.run_id, func.min(QUEUE.c.requested_at)).where(QUEUE.c.run_id.in_(run_ids))
        with self._read() as connection:
            return {str(run_id): at for run_id, at in connection.execute(wanted.group_by(QUEUE.c.run_id))}

    def cancel_queued(self, run_id: str, reason: str, *, ended_at: str) -> bool:
        """Abort a run that waits for a worker. Return False if it does not, or a worker has just taken it.

        Then `request_stop` stops it.
        """
        taken = select(QUEUE.c.id).where(QUEUE.c.run_id == run_id, QUEUE.c.state == "started").limit(1)
        queued = (RUNS.c.run_id == run_id, RUNS.c.status == "queued")
        values = {"status": "aborted", "stop_reason": clean(reason)}
        with self._write() as connection:
            leave_queue(connection, run_id, ended_at=ended_at)  # first, so that a worker taking it is waited for
            if connection.scalar(taken) is not None:
                return False
            return bool(connection.execute(update(RUNS).where(*queued).values(values)).rowcount)

    def request_stop(self, run_id: str, reason: str) -> bool:
        """Ask the process that works on a run, or a worker about to start it, to stop it.

        Return False if the run is neither running nor queued.
        """
        unfinished = (RUNS.c.run_id == run_id, RUNS.c.status.in_(("queued", "running")))
        with self._write() as connection:
            wanted = update(RUNS).where(*unfinished).values(stop_requested=clean(reason))
            return bool(connection.execute(wanted).rowcount)

    def recover_request(self, lost: QueuedRequest, *, again: bool, ended_at: str) -> bool:
        """Let the run of a lost request wait again, or with `again` False only end the request.

        Return False if there is nothing to recover: the run has ended, was to be stopped, or is worked on; or another
        worker has recovered the request meanwhile, and may have taken it.
        """
        taken = (QUEUE.c.worker.is_not_distinct_from(lost.worker), QUEUE.c.started_at == lost.started_at)
        started = (QUEUE.c.id == lost.id, QUEUE.c.state == "started", *taken)
        run_id = lost.run_id
        if run_id is None:
            return False
        with suppress(RunBusyError), self.own(run_id), self._write_run(run_id) as connection:
            found = connection.execute(
                select(RUNS.c.status, RUNS.c.stop_requested)
                .join(QUEUE, QUEUE.c.run_id == RUNS.c.run_id)
                .where(*started)
                .with_for_update()
            ).first()
            if found is None:
                return False
            unfinished = found.status in ("queued", "running", "aborted") and found.stop_requested is None
            if unfinished and again:
                values = {"status": "queued", "ended_at": None, "stop_reason": None}
                connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(values))
                connection.execute(update(QUEUE).where(*started).values(state="waiting", started_at=None, worker=None))
                return True
            _close(connection, run_id, ("started",), ended_at)
            if found.status in ("queued", "running"):
                reason = found.stop_requested or _GONE
                values = {"status": "aborted", "stop_reason": reason}
                connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(values))
            return unfinished
        return False

    def abort_forgotten(self, *, before: str) -> None:
        """Abort runs that wait without a place in the queue, because their planner was killed before it queued them.

        Only those planned before this time, because others may be about to be queued.
        """
        has_place = exists().where(QUEUE.c.run_id == RUNS.c.run_id, QUEUE.c.state.in_(_OPEN))
        forgotten = (RUNS.c.status == "queued", RUNS.c.started_at < before, ~has_place)
        with self._read() as connection:
            if connection.scalar(select(RUNS.c.run_id).where(*forgotten).limit(1)) is None:
                return
        with self._write() as connection:
            values = {"status": "aborted", "stop_reason": NOT_STARTED}
            connection.execute(update(RUNS).where(*forgotten).values(values))


def _fair_order() -> tuple[ColumnElement[Any], ...]:
    """Whose turn it is: requests of the same person in progress, when one was last started, and the order of asking."""
    others = QUEUE.alias("others")
    same = others.c.asked_by == QUEUE.c.asked_by
    running = select(func.count()).select_from(others).where(same, others.c.state == "started")
    last = select(func.max(others.c.started_at)).where(same)
    return running.scalar_subquery(), func.coalesce(last.scalar_subquery(), ""), QUEUE.c.id


def start_values(started_at: str) -> dict[str, Any]:
    """Values of a run that starts. A stop requested while it was queued is kept: nobody has seen it yet."""
    unseen = case((RUNS.c.status == "queued", RUNS.c.stop_requested))
    return {
        "status": "running",
        "started_at": started_at,
        "ended_at": None,
        "stop_reason": None,
        "stop_requested": unseen,
    }


def leave_queue(connection: Connection, run_id: str, *, ended_at: str) -> None:
    """Take a run out of the queue, if it waits there."""
    _close(connection, run_id, ("waiting",), ended_at)


def _close(connection: Connection, run_id: str, states: tuple[QueueState, ...], ended_at: str) -> None:
    these = (QUEUE.c.run_id == run_id, QUEUE.c.state.in_(states))
    connection.execute(update(QUEUE).where(*these).values(state="done", ended_at=ended_at))


def _added(connection: Connection, request: dict[str, Any], requested_at: str, run_id: str | None) -> QueuedRequest:
    values = {
        "state": "waiting",
        "requested_at": requested_at,
        "request": as_json(request),
        "run_id": run_id,
        "asked_by": clean(str(request.get("asked_by", ""))),
    }
    return _made(connection.execute(insert(QUEUE).values(values).returning(*QUEUE.c)).mappings().one())


def _made(row: RowMapping) -> QueuedRequest:
    values = {str(name): value for name, value in row.items()}
    return msgspec.convert({**values, _JSON: msgspec.json.decode(values[_JSON])}, QueuedRequest)
