"""Store the scores of a sample in its row, not in a row for each score."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_CASES_AT_ONCE = 256
_SCORES = sa.table(
    "scores",
    *(sa.column(name) for name in ("run_id", "position", "sample", "metric", "judge", "outcome", "reason")),
    sa.column("value", sa.Float),
    sa.column("passed", sa.Boolean),
    sa.column("details", sa.Text),
    sa.column("repeats", sa.Text),
)
_NEW = (sa.Column("scores", sa.Text), sa.Column("judges", sa.Text), sa.Column("passed", sa.Boolean))
_SAMPLES = sa.table(
    "sample_results",
    *(sa.column(name) for name in ("run_id", "position", "sample")),
    *(sa.column(column.name, column.type) for column in _NEW),
)


def upgrade() -> None:
    for column in _NEW:
        op.add_column("sample_results", column)
    connection = op.get_bind()
    keys = ("run_id", "position", "sample")
    update = _SAMPLES.update().where(*(_SAMPLES.c[name] == sa.bindparam(f"of_{name}") for name in keys))
    update = update.values({column.name: sa.bindparam(column.name) for column in _NEW})
    for run_id in connection.scalars(sa.text("SELECT run_id FROM runs")).all():
        for samples in _samples(connection, run_id):
            connection.execute(update, samples)
    op.drop_table("scores")


def _samples(connection: sa.Connection, run_id: str) -> Iterator[list[dict[str, Any]]]:
    row = _SCORES.c
    last = connection.scalar(sa.select(sa.func.max(row.position)).where(row.run_id == run_id))
    for start in range(0, -1 if last is None else last + 1, _CASES_AT_ONCE):
        here = (row.run_id == run_id, row.position.between(start, start + _CASES_AT_ONCE - 1))
        scores = connection.execute(sa.select(_SCORES).where(*here).order_by(row.position, row.sample, row.metric))
        samples = [_sample(list(found)) for _, found in groupby(scores, lambda score: (score.position, score.sample))]
        if samples:
            yield samples


def _sample(scores: list[Any]) -> dict[str, Any]:
    first = scores[0]
    passes = [score.passed for score in scores if score.passed is not None]
    judges = {score.metric: score.judge for score in scores if score.judge is not None}
    return {
        "of_run_id": first.run_id,
        "of_position": first.position,
        "of_sample": first.sample,
        "scores": msgspec.json.encode({score.metric: _score(score) for score in scores}).decode(),
        "judges": msgspec.json.encode(judges).decode() if judges else None,
        "passed": all(passes) if passes else None,
    }


def _score(score: Any) -> dict[str, Any]:
    found = {"status": score.outcome, "score": score.value, "passed": score.passed, "reason": score.reason or ""}
    json = {"details": score.details, "repeats": score.repeats}
    return found | {name: msgspec.Raw(text.encode()) for name, text in json.items() if text}
