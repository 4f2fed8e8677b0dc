"""Metrics as they are used on a case: the run's, with what the dataset and the case say over them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Judgement, MetricUse, Scored, Scores, merged_uses
from prompt_evaluator.pipeline.naming import judgement_name, metric_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Answer, Failed, JudgeConfig, RunPlan, Score, ScoreScale, Skipped, TestCase
    from prompt_evaluator.ports import Metric

_MOST_BUILT = 4_096
_PACKAGE = f"{__name__.partition('.')[0]}."
_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(eq=False)
class AppliedMetric:
    """One use of a metric, with all that its judgements have in common."""

    use: MetricUse
    metric: Metric
    judge: JudgeConfig | None
    pass_at: dict[str, float]
    """Of each score that it gives, from where on it passes: one under its own name, or those of a rubric's criteria."""
    is_ours: bool
    """Whether it ships with this package: what other people's code returns is looked at more closely."""

    @classmethod
    def of(cls, use: MetricUse, metric: Metric, judge: JudgeConfig | None) -> Self:
        ours = type(metric).__module__.startswith(_PACKAGE) and not metric.name.startswith(("python:", "command:"))
        return cls(use, metric, judge, _pass_at(use, metric), ours)

    @cached_property
    def digest(self) -> bytes:
        """Of the metric's definition and its judge."""
        return metric_digest(self.metric, self.judge)

    @property
    def key(self) -> str:
        return self.use.key

    @property
    def score_names(self) -> tuple[str, ...]:
        return tuple(self.pass_at)

    @property
    def repeats(self) -> int:
        """How often it judges each answer; rules do not change their mind."""
        return self.judge.repeats if self.judge else 1

    def name(self, case: TestCase, answer: Answer, sample: int, attempt: int, repeat: int) -> bytes:
        return judgement_name(self.metric, self.digest, self.use, case, answer, sample, attempt, repeat)

    def names(self, case: TestCase, answer: Answer, sample: int, attempt: int) -> list[bytes]:
        return [self.name(case, answer, sample, attempt, repeat) for repeat in range(self.repeats)]

    def with_metric(self, metric: Metric) -> AppliedMetric:
        return self.of(self.use, metric, self.judge)

    def judgement(
        self, outcome: Score | Scores, raw: str | None = None, replies: tuple[Answer, ...] = (), time_outs: int = 0
    ) -> Judgement:
        """What the metric has said, and what its judge replied, in the form that is kept."""
        if isinstance(outcome, Scores):
            scores: dict[str, Score] = {**outcome.scores}
            flags, comment = outcome.flags, outcome.comment
        else:
            scored = _negated(outcome) if self.use.negated else outcome
            scores, flags, comment = dict.fromkeys(self.pass_at, scored), {}, None
        return Judgement(
            metric=self.key,
            scores=scores,
            pass_at=self.pass_at,
            flags=flags,
            comment=comment,
            raw=raw,
            repeats=self.repeats,
            replies=replies,
            time_outs=time_outs,
        )

    def marked(self, judgement: Judgement) -> Judgement:
        """With the pass marks that hold now: what was reused may have been made with others."""
        return msgspec.structs.replace(judgement, metric=self.key, pass_at=self.pass_at, repeats=self.repeats)


def _pass_at(use: MetricUse, metric: Metric) -> dict[str, float]:
    scales: dict[str, ScoreScale] | None = getattr(metric, "scales", None)
    if scales:
        return {name: scale.pass_at for name, scale in scales.items()}
    # Negated it passes where the metric does not: above what is left of the mark, not at it.
    return {use.key: math.nextafter(1 - metric.threshold, math.inf) if use.negated else metric.threshold}


def _negated(score: Score) -> Scored | Skipped | Failed:
    return Scored(1 - score.value, score.reason, score.details) if isinstance(score, Scored) else score


class Uses:
    """Which metrics apply to a case. The rubric comes first, then the run's metrics, then what only the case wants."""

    def __init__(
        self, plan: RunPlan, build: Callable[[MetricUse], Metric], rubric: Callable[[RunPlan], Metric | None]
    ) -> None:
        """Take a plan, and what makes metrics: one from a use, and one from the plan's rubric."""
        self._plan, self._build = plan, build
        self._built: dict[bytes, AppliedMetric] = {}
        self._rubric: tuple[AppliedMetric, ...] = ()
        if (metric := rubric(plan)) is not None:
            self._rubric = (self._applied(MetricUse(metric=rubric_key(plan)), metric),)
        self._common: tuple[AppliedMetric, ...] | None = None

    def of(self, case: TestCase) -> tuple[AppliedMetric, ...]:
        """Every metric that applies to a case.

        Raises:
            ConfigurationError: Something that the case asks for cannot be used.
        """
        return (*self._rubric, *map(self._made, self.merged(case))) if case.checks else self.common()

    def judges(self, case: TestCase) -> dict[str, str]:
        """By score, the model of the judge that gives it to answers of this case."""
        judged = ((applied, applied.judge.model) for applied in self.of(case) if applied.judge)
        return {name: model for applied, model in judged for name in applied.score_names}

    def common(self) -> tuple[AppliedMetric, ...]:
        """What applies to cases that ask for nothing themselves."""
        if self._common is None:
            self._common = (*self._rubric, *map(self._made, self._plan.metrics))
        return self._common

    def merged(self, case: TestCase) -> tuple[MetricUse, ...]:
        try:
            return merged_uses(self._plan.metrics, case.checks)
        except ValueError as error:
            raise ConfigurationError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None

    def _made(self, use: MetricUse) -> AppliedMetric:
        """Cases often ask for the same: what is asked for in the same words is made once."""
        words = _encode(use)
        if (known := self._built.get(words)) is None:
            if len(self._built) >= _MOST_BUILT:
                self._built.clear()
            known = self._built[words] = self._applied(use, self._build(use))
        return known

    def _applied(self, use: MetricUse, metric: Metric) -> AppliedMetric:
        plan = self._plan
        judge = None
        if metric.needs_judge:
            # A plan that is still being made does not know yet which judges it needs.
            judge = plan.judges[use.judge] if use.judge and plan.judges else plan.judge
        return AppliedMetric.of(use, metric, judge)


def expected_keys(plan: RunPlan, case: TestCase) -> list[str]:
    """Which uses of metrics a finished sample has been judged by, in order; known without making any of them."""
    uses = [use.key for use in (merged_uses(plan.metrics, case.checks) if case.checks else plan.metrics)]
    return [rubric_key(plan), *uses] if plan.rubric else uses


def rubric_key(plan: RunPlan) -> str:
    """What the rubric's own judgements are called; no score has this name."""
    return f"rubric {plan.rubric.name}" if plan.rubric else ""
