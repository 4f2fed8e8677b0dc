"""Labels: people's scores of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class AnswerKey(NamedTuple):
    """Which answer of a run."""

    case_id: str
    sample: int
    """Starts at 0."""
    attempt: int


class LabelKey(NamedTuple):
    """Who scored what. Several labels with the same key are one opinion that changed."""

    run_id: str
    case_id: str
    sample: int
    attempt: int
    metric: str
    reviewer: str


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A person's score of one sample. Never changed: a new opinion is a new label."""

    run_id: str
    case_id: str
    sample: int
    """Starts at 0; displayed starting at 1."""
    attempt: int = 0
    metric: str
    """The name of a metric, or of one of the rubric's criteria or flags."""
    value: float
    """On the metric's scale; 0 or 1 for a flag."""
    reviewer: str
    created_at: str
    """ISO 8601, UTC, with milliseconds, so that sorting the strings sorts by time."""
    comment: str = ""
    rubric_hash: str | None = None
    """The rubric used for the score, because people change criteria while they grade. None for other metrics."""
    answer_hash: str
    """SHA-256 of the answer's text, as bare hexadecimal digits. Shows whether the label still belongs to the answer."""
    probability: float | None = None
    """Probability with which the sample was drawn, to correct estimates. None if it was not drawn at random."""
    judge_seen: bool | None = None
    """Whether the reviewer had seen the judge's score, which biases people towards it; None if unknown."""
    withdrawn: bool = False
    """Whether the reviewer takes the score back: then no label of this key counts until there is a newer one."""

    @property
    def key(self) -> LabelKey:
        return LabelKey(self.run_id, self.case_id, self.sample, self.attempt, self.metric, self.reviewer)

    @property
    def answer(self) -> AnswerKey:
        return AnswerKey(self.case_id, self.sample, self.attempt)


def newest_labels(labels: Iterable[Label]) -> dict[LabelKey, Label]:
    """Return the newest label of each key, which may be a withdrawn one; `labels` are in stored order.

    The label's own time decides, not its row's: importing an old file late does not undo a change of mind.
    """
    newest: dict[LabelKey, Label] = {}
    for label in labels:
        before = newest.get(label.key)
        if before is None or before.created_at <= label.created_at:
            newest[label.key] = label
    return newest


def current_labels(labels: Iterable[Label]) -> dict[LabelKey, Label]:
    """Return the labels that count: the newest of each key, unless it is withdrawn."""
    return {key: label for key, label in newest_labels(labels).items() if not label.withdrawn}
