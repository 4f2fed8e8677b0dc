"""Findings about a group of runs, one for each model on each dataset or with each prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import ProviderError
from prompt_evaluator.model.findings import Note
from prompt_evaluator.model.group import GroupFindings, GroupMetric, MemberFinding, MemberScore
from prompt_evaluator.model.wording import listed
from prompt_evaluator.reports.facts import facts
from prompt_evaluator.reports.metrics import metric_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.findings import Mark, MetricFinding, NoteValue
    from prompt_evaluator.model.group import Member, MemberStatus
    from prompt_evaluator.model.outcome import Outcome
    from prompt_evaluator.model.result import RunResult

_MARKS: dict[MemberStatus, Mark] = {"completed": "good", "partial": "warning", "queued": "warning"}
_SYNTHETIC = Note(code="synthetic", text="SYNTHETIC: made up offline by the mock. These are not a model's results.")
_NOT_BEGUN = "an earlier run stopped the group"


def group_findings(members: Sequence[Member]) -> GroupFindings:
    """Return all findings about a group."""
    outcomes = [member.outcome for member in members if member.outcome]
    plans = [outcome.record.plan for outcome in outcomes]
    found = [_member(member) for member in members]
    costs = [member.cost for member in found if member.cost is not None]
    return GroupFindings(
        group_id=plans[0].group_id if plans else None,
        datasets=tuple(dict.fromkeys(member.dataset for member in members)),
        models=tuple(dict.fromkeys(member.model for member in members)),
        prompts=tuple(dict.fromkeys(member.prompt for member in members if member.prompt is not None)),
        metrics=tuple(_metrics(outcomes)),
        members=tuple(found),
        cost=sum(costs) if costs else None,
        unpriced_calls=sum(member.unpriced_calls for member in found),
        seconds=sum(member.seconds or 0.0 for member in found),
        notes=tuple(_notes(plans)),
    )


def _metrics(outcomes: Sequence[Outcome]) -> Iterator[GroupMetric]:
    found = {metric.name: metric for outcome in outcomes for metric in _scores(outcome.result)}
    return (GroupMetric(name=each.name, scale=each.scale, digits=each.digits) for each in found.values())


def _scores(result: RunResult | None) -> tuple[MetricFinding, ...]:
    return metric_findings(result) if result else ()


def _member(member: Member) -> MemberFinding:
    outcome = member.outcome
    result = outcome.result if outcome else None
    status = _status(member)
    return MemberFinding(
        dataset=member.dataset,
        model=member.model,
        prompt=member.prompt,
        run_id=outcome.record.plan.run_id if outcome else None,
        status=status,
        label=_label(member, status),
        mark=_MARKS.get(status, "bad"),
        reason=_reason(member),
        judges=outcome.record.plan.judge_models if outcome else (),
        scores={
            each.name: MemberScore(
                mean=each.mean, interval=each.interval, no_interval=each.no_interval, mark=_worse(each.mark, status)
            )
            for each in _scores(result)
        },
        skipped=tuple(name for name in result.totals.skipped if name not in result.overall_metric_stats)
        if result
        else (),
        not_measured=tuple(result.not_measured) if result else (),
        cost=result.totals.cost if result else None,
        unpriced_calls=result.totals.unpriced_calls if result else 0,
        seconds=member.seconds,
    )


def _status(member: Member) -> MemberStatus:
    if member.outcome is None:
        return "failed" if member.error else "not_begun"
    status = member.outcome.record.status
    return "aborted" if status == "running" else status


def _label(member: Member, status: MemberStatus) -> str:
    if status == "aborted":
        stopped_by = member.outcome.stopped_by if member.outcome else None
        return "failed" if isinstance(stopped_by, ProviderError) else "stopped"
    return "not started" if status == "not_begun" else status


def _worse(mark: Mark, status: MemberStatus) -> Mark:
    """Lower a good mark to a warning if the run is incomplete."""
    return "warning" if mark == "good" and status != "completed" else mark


def _reason(member: Member) -> str | None:
    if member.outcome is None:
        return str(member.error) if member.error else _NOT_BEGUN
    record, result = member.outcome.record, member.outcome.result
    if record.status == "aborted":
        return str(member.outcome.stopped_by or record.stop_reason or "interrupted")
    if result is None:
        return None
    errors = facts(record.plan, result).errors
    if errors and record.status != "completed":
        first = f" {errors.failures[0].message}" if errors.failures else ""
        return f"{errors.text}{first}"
    return " ".join(bar.reason for bar in result.missed_bars) or None


def _notes(plans: Sequence[RunPlan]) -> Iterator[Note]:
    if note := _self_judged(plans):
        yield note
    if any(plan.synthetic for plan in plans):
        yield _SYNTHETIC


def _self_judged(plans: Sequence[RunPlan]) -> Note | None:
    """Warn about models judging themselves: they favour their own answers."""
    own = {plan.target.model: None for plan in plans if plan.target.model in plan.judge_models}
    if not own:
        return None
    values: dict[str, NoteValue] = {"models": list(own), "flag": "--judge-model"}
    whose = "its" if len(own) == 1 else "their"
    text = f"{listed(own)} judged {whose} own answers: choose another judge with --judge-model."
    return Note(code="judged_itself", text=text, values=values)
