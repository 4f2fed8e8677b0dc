"""Metrics as a run applies them: uses of them in a plan, and a scorer whose judge is a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.metrics.rubric_metric import RubricMetric
from prompt_evaluator.model import DatasetRef, JudgeConfig, MetricUse, RunPlan, Target
from prompt_evaluator.pipeline.scoring import RecordedJudge, Replies, Scorer
from prompt_evaluator.pipeline.uses import AppliedMetric, Uses

if TYPE_CHECKING:
    from prompt_evaluator.model import Rubric, TestCase
    from prompt_evaluator.ports import ModelClient

JUDGE = JudgeConfig(model="scripted/m", identity="scripted", temperature=0.0, max_tokens=700, seed=40)


def plan(*uses: MetricUse, rubric: Rubric | None = None, judge: JudgeConfig | None = JUDGE, **more: Any) -> RunPlan:
    """A run of one sample that asks for these metrics."""
    defaults: dict[str, Any] = {
        "run_id": "r",
        "group_id": "r",
        "dataset": DatasetRef(path="/d", hash="0", count=1, selected=1),
        "target": Target(model="scripted/m", identity="scripted"),
        "num_samples": 1,
        "output_dir": "/runs",
    }
    return RunPlan(**defaults | more, rubric=rubric, metrics=uses, judge=judge)


def uses_of(of: RunPlan) -> Uses:
    return Uses(of, build_metric, _rubric_metric)


def applied(name: str, judge: JudgeConfig | None = JUDGE, **options: Any) -> AppliedMetric:
    """A metric with these options, as a run applies it."""
    return applied_use(MetricUse(metric=name, options=options), judge)


def applied_use(use: MetricUse, judge: JudgeConfig | None = JUDGE) -> AppliedMetric:
    return uses_of(plan(use, judge=judge)).common()[0]


def applied_rubric(rubric: Rubric, **judge: Any) -> AppliedMetric:
    """A rubric, as a run applies it whose judge has these settings."""
    return uses_of(plan(rubric=rubric, judge=msgspec.structs.replace(JUDGE, **judge))).common()[0]


def scorer(provider: ModelClient) -> Scorer:
    """One whose judges all are this provider."""

    def judge(config: JudgeConfig, case: TestCase, repeat: int, kept: Replies | None) -> RecordedJudge:
        return RecordedJudge(provider, config, config.model.partition("/")[2], case, repeat, kept)

    return Scorer(judge)


def _rubric_metric(of: RunPlan) -> RubricMetric | None:
    return RubricMetric(of.rubric, of.judge.system_prompt if of.judge else None) if of.rubric else None
