"""Metrics as applied to a case: the run's own, overridden by the dataset and the case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Judgement, MetricUse, Scored, Scores
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
    """One use of a metric, with everything its judgements share."""

    use: MetricUse
    metric: Metric
    judge: JudgeConfig | None
    pass_at: dict[str, float]
    """Pass mark of each score: one under the metric's own name, or one for each criterion of a rubric."""
    is_ours: bool
    """Whether it ships with this package; what other code returns is checked more closely."""

    @classmethod
    def of(cls, use: MetricUse, metric: Metric, judge: JudgeConfig | None) -> Self:
        ours = type(metric).__module__.startswith(_PACKAGE) and not metric.name.startswith(("python:", "command:"))
        return cls(use, metric, judge, _pass_at(use, metric), ours)

    @cached_property
    def digest(self) -> bytes:
        """Hash of the metric's definition and its judge."""
        return metric_digest(self.metric, self.judge)

    @property
    def key(self) -> str:
        return self.use.key

    @property
    def score_names(self) -> tuple[str, ...]:
        return tuple(self.pass_at)

    @property
    def repeats(self) -> int:
        """How many times it judges each answer; once if it has no judge, since rules always agree."""
        return self.judge.repeats if self.judge else 1

    def name(self, case: TestCase, answer: Answer, sample: int, attempt: int, repeat: int) -> bytes:
        return judgement_name(self.metric, self.digest, self.use, case, answer, sample, attempt, repeat)

    def names(self, case: TestCase, answer: Answer, sample: int, attempt: int) -> list[bytes]:
        return [self.name(case, answer, sample, attempt, repeat) for repeat in range(self.repeats)]

    def with_metric(self, metric: Metric) -> AppliedMetric:
        return self.of(self.use, metric, self.judge)

    def against(self, rival: Answer | None) -> AppliedMetric:
        """The metric for one sample of a pairwise comparison, whose baseline gave this answer, or none."""
        compared: Callable[[Answer | None], Metric] | None = getattr(self.metric, "against", None)
        return self.with_metric(compared(rival)) if compared else self

    def judgement(
        self, outcome: Score | Scores, raw: str | None = None, replies: tuple[Answer, ...] = (), time_outs: int = 0
    ) -> Judgement:
        """Make the judgement to be stored from the metric's outcome and its judge's replies."""
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
        """The judgement with the current pass marks; a reused one may have been made with others."""
        return msgspec.structs.replace(judgement, metric=self.key, pass_at=self.pass_at, repeats=self.repeats)


def _pass_at(use: MetricUse, metric: Metric) -> dict[str, float]:
    scales: dict[str, ScoreScale] | None = getattr(metric, "scales", None)
    if scales:
        return {name: scale.pass_at for name, scale in scales.items()}
    # Negated, it passes where the metric does not: above 1 - threshold, not at it.
    return {use.key: math.nextafter(1 - metric.threshold, math.inf) if use.negated else metric.threshold}


def _negated(score: Score) -> Scored | Skipped | Failed:
    return Scored(1 - score.value, score.reason, score.details) if isinstance(score, Scored) else score


class Uses:
    """Which metrics apply to a case: the rubric first, then the run's metrics, then those only the case asks for."""

    def __init__(
        self, plan: RunPlan, build: Callable[[MetricUse], Metric], rubric: Callable[[RunPlan], Metric | None]
    ) -> None:
        """Store the plan; `build` makes a metric from a use, and `rubric` the one of the plan's rubric, if any."""
        self._plan, self._build = plan, build
        self._built: dict[bytes, AppliedMetric] = {}
        self._rubric: tuple[AppliedMetric, ...] = ()
        if (metric := rubric(plan)) is not None:
            self._rubric = (self._applied(MetricUse(metric=rubric_key(plan)), metric),)
        self._common: tuple[AppliedMetric, ...] | None = None

    def of(self, case: TestCase) -> tuple[AppliedMetric, ...]:
        """Every metric that applies to a case.

        Raises:
            ConfigurationError: A metric that the case asks for cannot be used.
        """
        uses = self.merged(case) if case.checks else self._plan.metrics
        return self.common() if uses is self._plan.metrics else (*self._rubric, *map(self._made, uses))

    def judges(self, case: TestCase) -> dict[str, str]:
        """Judge model of each score, for answers of this case."""
        judged = ((applied, applied.judge.model) for applied in self.of(case) if applied.judge)
        return {name: model for applied, model in judged for name in applied.score_names}

    def common(self) -> tuple[AppliedMetric, ...]:
        """Metrics of cases without checks of their own."""
        if self._common is None:
            self._common = (*self._rubric, *map(self._made, self._plan.metrics))
        return self._common

    def merged(self, case: TestCase) -> tuple[MetricUse, ...]:
        try:
            return self._plan.uses_for(case)
        except ValueError as error:
            raise ConfigurationError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None

    def _made(self, use: MetricUse) -> AppliedMetric:
        """Build each distinct use once: cases often have equal checks."""
        key = _encode(use)
        if (known := self._built.get(key)) is None:
            if len(self._built) >= _MOST_BUILT:
                self._built.clear()
            known = self._built[key] = self._applied(use, self._build(use))
        return known

    def _applied(self, use: MetricUse, metric: Metric) -> AppliedMetric:
        plan = self._plan
        judge = None
        if metric.needs_judge:
            # A draft does not know yet which judges it needs.
            judge = plan.judges[use.judge] if use.judge and plan.judges else plan.judge
        return AppliedMetric.of(use, metric, judge)


def expected_keys(plan: RunPlan, case: TestCase) -> list[str]:
    """Keys of the metric uses that judge a finished sample, in order. No metric is built."""
    uses = [use.key for use in (plan.uses_for(case) if case.checks else plan.metrics)]
    return [rubric_key(plan), *uses] if plan.rubric else uses


def rubric_key(plan: RunPlan) -> str:
    """Key of the rubric's own judgements; no score has this name."""
    return f"rubric {plan.rubric.name}" if plan.rubric else ""
