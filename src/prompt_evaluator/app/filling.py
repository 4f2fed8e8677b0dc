"""Rebuilds results of stored runs from units, for stores from before result rows existed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.model import Preparation
from prompt_evaluator.pipeline.assemble import Assembler
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.samples import group
from prompt_evaluator.pipeline.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.model import MetricUse, RunPlan, RunRecord, TestCase, Unit
    from prompt_evaluator.model.result import CaseResult, RunResult

_preparation = msgspec.json.Decoder(Preparation).decode


class ScoreJudges:
    """The judge of each score in a run, from its plan and from the checks of single cases."""

    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self.models: dict[str, str] = {}
        """Maps score name to judge model. Grows as cases are added."""
        self._seen: set[str] = set()
        if plan.rubric and plan.judge:
            self.models |= dict.fromkeys((criterion.name for criterion in plan.rubric.metrics), plan.judge.model)
        self._add(plan.metrics)

    def add(self, case: TestCase) -> None:
        """Add the judges of a case's own checks."""
        if case.checks:
            self._add(self._plan.uses_for(case))

    def _add(self, uses: Sequence[MetricUse]) -> None:
        for use in uses:
            if use.key not in self._seen:
                self._seen.add(use.key)
                if model := self._judge(use):
                    self.models[use.key] = model

    def _judge(self, use: MetricUse) -> str | None:
        if use.judge is not None:
            named = self._plan.judges.get(use.judge)
            return named.model if named else use.judge
        return self._plan.judge.model if self._plan.judge and _needs_judge(use) else None


def _needs_judge(use: MetricUse) -> bool:
    if use.metric.startswith(("python:", "command:")):
        return False  # user code does not use a judge, and may no longer exist
    try:
        return build_metric(use).needs_judge
    except PromptEvaluatorError:
        return False


class StoredResults:
    """The results of one run, a batch of cases at a time."""

    def __init__(self, record: RunRecord, prepared: Sequence[Unit]) -> None:
        self._record, plan = record, record.plan
        self._requests, self._assembler = RequestBuilder(plan.target, plan.target.model), Assembler(plan)
        self._judges = ScoreJudges(plan)
        self._totals, self._position = Totals(plan, (_preparation(unit.data) for unit in prepared)), 0

    def add(self, cases: Sequence[TestCase], units: Mapping[str, Sequence[Unit]]) -> list[CaseResult]:
        return [self._result(case, units.get(case.id, ())) for case in cases]

    @property
    def judges(self) -> Mapping[str, str]:
        return self._judges.models

    def result(self) -> RunResult:
        return self._totals.result(self._record.status)

    def _result(self, case: TestCase, units: Sequence[Unit]) -> CaseResult:
        self._judges.add(case)
        samples = group(units, self._record.plan.num_samples)
        result = self._assembler.case(case, samples, self._requests.shown(case))
        self._totals.add(self._position, result)
        self._position += 1
        return result
