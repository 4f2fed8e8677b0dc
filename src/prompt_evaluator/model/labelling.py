"""Answers that people are asked to label: how they are drawn, what the judge said, and the keys of a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, get_args

import msgspec

from prompt_evaluator.model.bounds import LABEL_COUNT, SEED

if TYPE_CHECKING:
    from prompt_evaluator.model.label import AnswerKey

Draw = Literal["random", "stratified", "uncertain"]
"""How answers are drawn: uniformly, evenly over the judge's scores, or those that the judge is least sure of."""
DRAWS: tuple[Draw, ...] = get_args(Draw)
DRAWN: dict[Draw, str] = {
    "random": "at random",
    "stratified": "evenly over the judge's scores",
    "uncertain": "where the judge is least sure",
}
"""Completes "drawn …"."""
USUAL_COUNT = 50
"""How many answers are drawn, unless another number is asked for."""


class LabelDraw(msgspec.Struct, frozen=True, kw_only=True):
    """Which answers of a run to label. The same draw has the same answers in the same order."""

    run_id: str
    metric: str | None = None
    """A metric of the run, or one of its rubric's criteria or flags. None for the first one."""
    how: Draw = "random"
    count: Annotated[int, LABEL_COUNT.meta] = USUAL_COUNT
    """At most this many answers."""
    seed: Annotated[int, SEED.meta] = 1


class Candidate(NamedTuple):
    """An answer that can be drawn, and what its judge said."""

    answer: AnswerKey
    value: float | None
    """None if there is no score."""
    passed: bool | None
    repeats: tuple[float | None, ...] = ()
    """The score of each judgement, if the answer was judged more than once."""


class Drawn(NamedTuple):
    """An answer that is to be labelled."""

    answer: AnswerKey
    probability: float | None
    """Probability with which it was drawn; None if it was chosen."""


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
