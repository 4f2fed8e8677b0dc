"""The parts of a run, made from its plan: who is asked, by which metrics answers are judged, and what is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.metrics.rubric_metric import RubricMetric
from prompt_evaluator.model import Preparation
from prompt_evaluator.pipeline.preparing import NO_CASE, Preparer
from prompt_evaluator.pipeline.scoring import RecordedJudge, Scorer
from prompt_evaluator.pipeline.uses import Uses

if TYPE_CHECKING:
    from prompt_evaluator.app.models import Models
    from prompt_evaluator.model import JudgeConfig, RunPlan, TestCase, Unit
    from prompt_evaluator.pipeline.scoring import Replies
    from prompt_evaluator.ports import Ledger
    from prompt_evaluator.store import Store

_preparation = msgspec.json.Decoder(Preparation).decode


def make_uses(plan: RunPlan) -> Uses:
    """Which metrics apply to a case of this run."""
    return Uses(plan, build_metric, rubric_metric)


def rubric_metric(plan: RunPlan) -> RubricMetric | None:
    if plan.rubric is None:
        return None
    return RubricMetric(plan.rubric, plan.judge.system_prompt if plan.judge else None)


def make_scorer(models: Models) -> Scorer:
    """What applies metrics, with the judges that they name."""

    def judge(config: JudgeConfig, case: TestCase, repeat: int, kept: Replies | None) -> RecordedJudge:
        name = models.name(config.model)
        return RecordedJudge(models.client(name.provider, urgent=True), config, name.model, case, repeat, kept)

    return Scorer(judge)


def make_preparer(plan: RunPlan, models: Models, store: Store, ledger: Ledger) -> Preparer:
    """What makes metrics ready; asks for nothing that this run or any other has asked for before."""
    own = {unit.name: unit for unit in _prepared_units(store, plan.run_id) if unit.ok}

    def judge(config: JudgeConfig) -> RecordedJudge:
        name = models.name(config.model)
        return RecordedJudge(models.client(name.provider, urgent=True), config, name.model, None)

    return Preparer(judge, build_metric, lambda name: own.get(name) or store.finished([name]).get(name), ledger)


def preparations(store: Store, run_id: str) -> list[Preparation]:
    """What a judge has written for the metrics of a run."""
    return [_preparation(unit.data) for unit in _prepared_units(store, run_id)]


def _prepared_units(store: Store, run_id: str) -> list[Unit]:
    return store.units(run_id, [NO_CASE])[NO_CASE]
