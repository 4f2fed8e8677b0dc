"""The noise gate on stored runs and files, for front ends."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.baselines import pinned_for
from prompt_evaluator.app.clock import now
from prompt_evaluator.app.run_names import open_compared
from prompt_evaluator.compare.caveats import run_caveats
from prompt_evaluator.compare.pairing import Rows, pairs
from prompt_evaluator.compare.refusing import refuse_different, refuse_nothing_common
from prompt_evaluator.compare.scales import find_scale
from prompt_evaluator.config.gates import find_policy, read_policy
from prompt_evaluator.errors import ConfigurationError, IncomparableError
from prompt_evaluator.gate.noise import GateTally
from prompt_evaluator.gate.planning import gate_plan
from prompt_evaluator.model.gate import REFUSED, GatePolicy, GateResult
from prompt_evaluator.model.release import Verdict
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.comparison import DatasetChange, RunFacts
    from prompt_evaluator.model.gate import GatePlan
    from prompt_evaluator.ports import ComparedRun

    Scale = tuple[float, float]

_OLD_DAYS = 7


class GateRequest(NamedTuple):
    """What to gate."""

    run: str
    baseline: str | None
    """None for the policy's, or else the one pinned for the run's dataset."""
    policy: GatePolicy
    allow_different: bool = False


class Gated(NamedTuple):
    """A verdict, and the runs it is about."""

    result: GateResult
    names: tuple[str, str]
    """The baseline and the candidate, as they were named."""
    candidate: RunFacts


def policy_of(settings: Settings, path: Path | None) -> GatePolicy:
    """The policy of a file; by default that of the working folder's `gates.yaml`, or else the built-in one.

    Raises:
        InputError: Something in the file is unknown or wrong, or it was found and someone else may have written it.
    """
    found = path or find_policy(settings.cwd)
    return read_policy(found) if found is not None else GatePolicy()


def baseline_of(settings: Settings, request: GateRequest) -> str:
    """The run to compare with: the named one, the policy's, or the one that is pinned for the run's dataset.

    Raises:
        ConfigurationError: There is none, or the policy requires another one.
    """
    policy, named = request.policy, request.baseline
    if named is not None and policy.baseline is not None and named != policy.baseline:
        what = f"{policy.path} requires the baseline {policy.baseline!r}, but --baseline is {named!r}."
        raise ConfigurationError(f"{what} Leave out --baseline, or change the policy.")
    chosen = named if named is not None else policy.baseline
    return pinned_for(settings, request.run) if chosen is None else chosen


def gate_runs(settings: Settings, request: GateRequest) -> Gated:
    """Gate a run, and keep the verdict if the run is in the store. Runs that cannot be compared have no verdict.

    Raises:
        ConfigurationError: There is no such run, or the policy does not fit.
        InputError: A file cannot be used.
    """
    baseline = baseline_of(settings, request)
    with open_compared(settings, (baseline, request.run)) as (ours, theirs):
        facts = ours.facts, theirs.facts
        try:
            result = gate_pair(ours, theirs, request)
        except IncomparableError as error:
            result = _refused(facts, request.policy, str(error))
    _keep(settings, facts, result)
    return Gated(result, (baseline, request.run), facts[1])


def plan_gate(settings: Settings, run: str, policy: GatePolicy) -> GatePlan:
    """How many cases and samples the policy needs, from this run's spread; raises as `gate_runs`."""
    with open_compared(settings, (run,)) as (found,):
        return gate_plan(found.facts, found.batches(), policy, _scales(found.facts, found.facts))


def gate_pair(baseline: ComparedRun, candidate: ComparedRun, request: GateRequest) -> GateResult:
    """The verdict on the candidate.

    Raises:
        IncomparableError: The runs differ in more than their targets, or have no case or score in common.
        UnknownNameError: Neither run knows a metric of the policy, or no case has a key to slice by.
    """
    facts = baseline.facts, candidate.facts
    if not request.allow_different:
        refuse_different(*facts)
    tally, rows = GateTally(request.policy, facts), Rows()
    for pair in pairs(baseline, candidate):
        if rows.add(pair) and pair.baseline is not None and pair.candidate is not None:
            tally.add(pair.baseline, pair.candidate)
    change = rows.change()
    if not rows.common:
        refuse_nothing_common(*facts, change)
    if not request.allow_different:
        _refuse_other_cases(facts, change)
    warnings = (*run_caveats(*facts, change, rows.common), *_old(facts[0]))
    return tally.finish(_scales(*facts), warnings)


def _scales(baseline: RunFacts, candidate: RunFacts) -> Callable[[str], Scale]:
    def of(metric: str) -> Scale:
        found = find_scale(metric, baseline, candidate)
        if found.other is not None:
            ours, theirs = (f"{low:g} to {high:g}" for low, high in (found.scale, found.other))
            raise IncomparableError(
                f"{metric} cannot be gated: its scale is {ours} in the baseline and {theirs} in the candidate. "
                "Evaluate both with the same rubric, or name other metrics in the policy."
            )
        return found.scale

    return of


def _refuse_other_cases(facts: tuple[RunFacts, RunFacts], change: DatasetChange) -> None:
    parts = [
        f"{many(count, 'case')} {what}"
        for count, what in ((change.removed, "missing"), (change.added, "new"), (change.changed, "changed"))
        if count
    ]
    if parts:
        raise IncomparableError(
            f"{facts[1].name} does not have the same cases as {facts[0].name}: {', '.join(parts)}. To gate on the "
            "unchanged cases that both have, add --allow-different."
        )


def _old(baseline: RunFacts) -> Iterator[str]:
    try:
        age = datetime.fromisoformat(now()) - datetime.fromisoformat(baseline.started_at or "")
    except (ValueError, TypeError):  # a file may say anything, or omit the time zone
        return
    if age.days > _OLD_DAYS:
        yield (
            f"The baseline is {many(age.days, 'day')} old: the model and the judge may have changed since then. "
            "Evaluate it again to be sure."
        )


def _refused(facts: tuple[RunFacts, RunFacts], policy: GatePolicy, reason: str) -> GateResult:
    return GateResult(
        verdict=None,
        exit_code=REFUSED,
        metrics={},
        guardrails={},
        reasons=(reason,),
        baseline=facts[0].name,
        candidate=facts[1].name,
        policy=policy,
    )


def _keep(settings: Settings, facts: tuple[RunFacts, RunFacts], result: GateResult) -> None:
    baseline, candidate = facts
    if result.verdict is None or candidate.path is not None or candidate.run_id is None:
        return
    from prompt_evaluator.app.stores import open_store  # noqa: PLC0415 - files are gated without a database

    with closing(open_store(settings)) as store:
        store.add_verdict(
            Verdict(
                run_id=candidate.run_id,
                baseline_run_id=baseline.run_id,
                verdict=result.verdict,
                created_at=now(),
                policy=msgspec.to_builtins(result.policy),
                reasons=result.reasons,
            )
        )
