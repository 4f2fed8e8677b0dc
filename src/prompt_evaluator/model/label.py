"""What people say about answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class LabelKey(NamedTuple):
    """Whose opinion about what. Several labels with the same key are one opinion that changed."""

    run_id: str
    case_id: str
    sample: int
    attempt: int
    metric: str
    reviewer: str


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A person's score of one sample. It is never changed: a new opinion is a new label."""

    run_id: str
    case_id: str
    sample: int
    """Counted from 0; people are shown it counted from 1."""
    attempt: int = 0
    metric: str
    """The name of a metric, or of a criterion or a flag of the rubric."""
    value: float
    """On the scale of the metric; a flag is 0 or 1."""
    reviewer: str
    created_at: str
    """ISO 8601, UTC, to the millisecond, so that the order of the texts is the order of the times."""
    comment: str = ""
    rubric_hash: str | None = None
    """The rubric by which the score was given: people change criteria while they grade. None for other metrics."""
    answer_hash: str
    """SHA-256 of the answer's text, as bare hexadecimal digits: it shows whether a label is still about this answer."""
    probability: float | None = None
    """With which the sample was drawn: estimates are corrected by it. None when it was not drawn at random."""
    judge_seen: bool | None = None
    """Whether the reviewer had seen the judge's score, which pulls people towards it; None when nobody knows."""

    @property
    def key(self) -> LabelKey:
        return LabelKey(self.run_id, self.case_id, self.sample, self.attempt, self.metric, self.reviewer)


def current_labels(labels: Iterable[Label]) -> dict[LabelKey, Label]:
    """The newest label of each key, from labels in the order in which they were stored.

    The time of the label decides, not of its row: an old file that is imported late does not undo a change of mind.
    """
    current: dict[LabelKey, Label] = {}
    for label in labels:
        before = current.get(label.key)
        if before is None or before.created_at <= label.created_at:
            current[label.key] = label
    return current
