"""Gates a run as soon as it is finished. Whether its baseline can be used is found out before the first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.gate import Gated, GateRequest, baseline_of, gate_runs
from prompt_evaluator.app.run_names import open_compared
from prompt_evaluator.compare.refusing import refuse_different
from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.model.comparison import RunFacts
from prompt_evaluator.model.run_facts import definitions, judge_parameters, rubric_text
from prompt_evaluator.model.wording import many
from prompt_evaluator.store.run_rows import judge_hash

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.gate import GatePolicy
    from prompt_evaluator.model.outcome import Outcome

_NEW = "the new run"
_AFTERWARDS = (
    "Nothing was evaluated. To gate on the unchanged cases that both have, evaluate without --gate, then use "
    "`gate RUN --baseline RUN --allow-different`."
)


class NewRunGate:
    """A gate for a run that is not there yet."""

    def __init__(self, settings: Settings, baseline: str | None, policy: GatePolicy) -> None:
        """Find the baseline.

        Raises:
            ConfigurationError: There is no such run, or the policy requires another one.
            InputError: Its file cannot be used.
        """
        self._settings, self._policy = settings, policy
        chosen = baseline_of(settings, GateRequest("@last", baseline, policy))
        with open_compared(settings, (chosen,)) as (found,):
            self._facts = found.facts

    def check(self, plan: RunPlan) -> None:
        """Raise `IncomparableError` if the run that is planned could not be compared with the baseline."""
        planned = _facts(plan)
        refuse_different(self._facts, planned, _AFTERWARDS)
        if None not in (self._facts.cases, planned.cases) and self._facts.cases != planned.cases:
            raise IncomparableError(
                f"{_NEW.capitalize()} would have {many(planned.cases or 0, 'case')}, but {self._facts.name} "
                f"has {self._facts.cases:,}. {_AFTERWARDS}"
            )

    def gate(self, outcome: Outcome) -> Gated:
        """The verdict on the finished run."""
        # By its id: by now, @last is the new run.
        baseline = self._facts.path or self._facts.run_id or self._facts.name
        policy = msgspec.structs.replace(self._policy, baseline=None)
        gated = gate_runs(self._settings, GateRequest(outcome.record.plan.run_id, baseline, policy))
        return gated._replace(result=msgspec.structs.replace(gated.result, policy=self._policy))


def _facts(plan: RunPlan) -> RunFacts:
    """What will be known of the run that makes a comparison fair."""
    plain, rubric, judge = msgspec.to_builtins, plan.rubric, plan.judge
    models = plan.judge_models
    return RunFacts(
        name=_NEW,
        dataset_hash=plan.dataset.hash,
        rubric_name=rubric.name if rubric else None,
        rubric_hash=rubric.hash if rubric else None,
        rubric_text=rubric_text(plain(rubric.metrics), plain(rubric.flags)) if rubric else None,
        judge_model=models[0] if models else None,
        judge_hash=judge_hash(plan),
        judge_parameters=judge_parameters(plain(judge) if judge else None, plain(plan.judges)),
        metric_definitions=definitions(plain(list(plan.metrics))),
        cases=plan.dataset.selected,
    )
