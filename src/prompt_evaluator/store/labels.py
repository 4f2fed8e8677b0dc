"""Labels in the database: append-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, insert, select

from prompt_evaluator.errors import LabelledRunError
from prompt_evaluator.model import REDACTOR, Label
from prompt_evaluator.store.schema import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

_COLUMNS = [LABELS.c[field] for field in Label.__struct_fields__]


def insert_labels(connection: Connection, labels: Iterable[Label]) -> None:
    if rows := [_row(label) for label in labels]:
        connection.execute(insert(LABELS), rows)


def read_labels(
    connection: Connection, run_id: str | None, case_id: str | None = None, metric: str | None = None
) -> list[Label]:
    """Labels of one run, or all, in the order they were added; of one case or on one metric only, if given."""
    wanted = select(*_COLUMNS).order_by(LABELS.c.id)
    if run_id is not None:
        wanted = wanted.where(LABELS.c.run_id == run_id)
    if case_id is not None:
        wanted = wanted.where(LABELS.c.case_id == case_id)
    if metric is not None:
        wanted = wanted.where(LABELS.c.metric == metric)
    return [Label(**row) for row in connection.execute(wanted).mappings()]


def refuse_labelled(connection: Connection, run_id: str) -> None:
    """Raise `LabelledRunError` if the run has labels."""
    if count := connection.scalar(select(func.count()).where(LABELS.c.run_id == run_id)):
        raise LabelledRunError(run_id, count)


def _row(label: Label) -> dict[str, Any]:
    # People may paste anything, including NUL, which PostgreSQL refuses.
    comment = REDACTOR.text(label.comment).replace("\x00", "�")
    return {**msgspec.structs.asdict(label), "comment": comment}
