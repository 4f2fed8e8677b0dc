"""Reads the finished runs that a leaderboard chooses from, without their summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import select

from prompt_evaluator.model import RunPlan
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.schema import RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_COLUMNS = ("run_id", "started_at", "dataset_name", "dataset_hash", "rubric_hash", "judge_hash")
_decode = msgspec.json.Decoder(RunPlan).decode


class FinishedRun(NamedTuple):
    """A finished run, as far as it decides which others it can be compared with."""

    run_id: str
    started_at: str
    dataset_name: str | None
    dataset_hash: str | None
    rubric_hash: str | None
    judge_hash: str | None
    plan: RunPlan


def read_finished(connection: Connection, hashes: Sequence[str] | None, limit: int) -> list[Any]:
    """The newest evaluations that have ended with results, newest first, with their plans as bytes.

    Args:
        connection: An open connection.
        hashes: Of the datasets; None means all.
        limit: How many at most.
    """
    newest = (ordered(connection, RUNS.c.started_at).desc(), RUNS.c.run_id.desc())
    wanted = select(*(RUNS.c[name] for name in _COLUMNS), RUNS.c.plan).where(
        RUNS.c.kind == "evaluation", RUNS.c.status.in_(("completed", "partial"))
    )
    if hashes is not None:
        wanted = wanted.where(RUNS.c.dataset_hash.in_(hashes))
    return list(connection.execute(wanted.order_by(*newest).limit(limit)))


def finished_run(row: Any) -> FinishedRun:
    return FinishedRun(**{name: getattr(row, name) for name in _COLUMNS}, plan=_decode(row.plan))
