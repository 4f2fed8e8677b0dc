"""Queues of samples to be labelled: which sample a person gets next, and how it was drawn."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, get_args

import msgspec

from prompt_evaluator.model.bounds import QUEUE_SIZE, SEED
from prompt_evaluator.model.label import Label

Draw = Literal["random", "stratified", "uncertain"]
"""How samples are drawn: uniformly, evenly over the judge's scores, or those that the judge is least sure of."""
DRAWS: tuple[Draw, ...] = get_args(Draw)
DRAWN: dict[Draw, str] = {
    "random": "at random",
    "stratified": "evenly over the judge's scores",
    "uncertain": "where the judge is least sure",
}
"""Completes "drawn …"."""
USUAL_SIZE = 50
"""Samples of a queue, unless another number is asked for."""


class NewQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Which samples to draw."""

    run_id: str
    metric: str
    """A metric of the run, or one of its rubric's criteria or flags."""
    draw: Draw = "random"
    size: Annotated[int, QUEUE_SIZE.meta] = USUAL_SIZE
    """At most this many samples."""
    seed: Annotated[int, SEED.meta] | None = None
    """The same seed draws the same samples, such as for a second opinion. None for any."""


class LabelQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Samples of a run that were drawn to be labelled on one metric."""

    id: int
    run_id: str
    metric: str
    draw: Draw
    seed: int
    size: int
    """How many samples were drawn."""
    population: int
    """How many samples they were drawn from: all that have an answer."""
    created_at: str
    created_by: str


class Candidate(NamedTuple):
    """A sample that can be drawn, and what its judge said."""

    position: int
    sample: int
    attempt: int
    value: float | None
    """None if there is no score."""
    passed: bool | None
    repeats: tuple[float | None, ...] = ()
    """The score of each judgement, if the answer was judged more than once."""


class Drawn(NamedTuple):
    """A sample in the order in which it is to be labelled."""

    position: int
    sample: int
    attempt: int
    probability: float | None
    """Probability with which it was drawn; None if it was chosen."""


class LabelItem(msgspec.Struct, frozen=True, kw_only=True):
    """One place of a queue."""

    queue_id: int
    place: int
    """Starts at 1."""
    case_id: str
    sample: int
    """Starts at 0."""
    attempt: int
    probability: float | None
    reserved_by: str | None = None
    """Who is looking at it."""
    reserved_until: str | None = None
    labelled_by: str | None = None
    labelled_at: str | None = None


class QueueProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a queue is."""

    queue: LabelQueue
    labelled: int
    skipped: int
    """Samples without a label that at least one person has skipped."""
    reviewers: tuple[str, ...]
    last_at: str | None
    """When the last label was given."""

    @property
    def left(self) -> int:
        return self.queue.size - self.labelled


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What the judge, or the metric, said about one sample."""

    value: float | None
    """None if there is no score; 0 or 1 for a flag."""
    passed: bool | None
    reason: str = ""
    judge: str | None = None
    repeats: tuple[float | None, ...] = ()


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How often people and the judge say the same of the same samples."""

    labels: int
    """Labels of samples that have a score."""
    same: int
    """Those on the same side of the pass mark; for a flag, with the same answer."""
    exact: int
    """Those with the same value, to the nearest step of the scale."""
    interval: tuple[float, float] | None
    """Of the share of `same`, at 95 %; None without labels."""


class ScaleKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key, and the score that it gives."""

    key: str
    value: float
    text: str


class LabelScale(msgspec.Struct, frozen=True, kw_only=True):
    """How a metric is labelled."""

    metric: str
    kind: Literal["criterion", "flag", "metric"]
    description: str
    guidelines: str
    low: float
    high: float
    pass_at: float
    keys: tuple[ScaleKey, ...]


class LabelStep(msgspec.Struct, frozen=True, kw_only=True):
    """What a reviewer gets after a label, a skip or an undo."""

    place: int | None
    """The place of the next sample, which is now reserved for the reviewer; None if nothing is left."""
    done: int | None
    """The place that was labelled; None if none was."""
    progress: QueueProgress
    label: Label | None = None
    """The label that was added."""
    opinion: Opinion | None = None
    """What the judge said about the sample that was labelled."""
    agreement: Agreement
