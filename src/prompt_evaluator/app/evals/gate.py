"""The release gate over the harness's results."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.app.evals.named_runs import PREVIOUS, find_baseline
from prompt_evaluator.errors import ResultsFileError
from prompt_evaluator.gate.comparable import refusals, remarks
from prompt_evaluator.gate.thresholds import movements, sentence
from prompt_evaluator.harness.history import read_history
from prompt_evaluator.model.harness_gate import EXIT_CODES, SKIPPED, GateOutcome, Refusal
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from prompt_evaluator.model.harness import HarnessRun, HarnessSummary
    from prompt_evaluator.model.harness_gate import Difference, GateLimits, GateVerdict, Movement

_OLD = timedelta(days=7)


class GateRequest(NamedTuple):
    """What to judge, and how."""

    results: Path
    """The folder with `history.json`."""
    limits: GateLimits
    baseline: str = PREVIOUS
    """`previous`, the id of a run or its beginning, or a file."""
    require_baseline: bool = False
    allowed: Collection[Difference] = ()
    """Differences between the runs that do not matter."""


class PreparedRuns(NamedTuple):
    """Two runs that may be compared."""

    baseline: HarnessRun
    candidate: HarnessRun
    how: str
    """How the baseline was chosen, in words."""
    notes: tuple[str, ...]


def judge_release(request: GateRequest, now: str) -> GateOutcome:
    """Compare the newest run with its baseline."""
    prepared = _prepared(request, now)
    if isinstance(prepared, GateOutcome):
        return prepared
    before = {each.config_id: each for each in prepared.baseline.summaries}
    moved: list[Movement] = []
    refused = []
    for each in prepared.candidate.summaries:
        old = before.get(each.config_id)
        if old is None:
            continue
        found = movements(old, each, request.limits)
        if found is None:
            refused.append(_why_nothing(old, each))
        moved += found or []
    if refused:
        return _outcome(request, "refused", refused, prepared=prepared)
    reasons = [sentence(each) for each in moved if each.exceeded]
    return _outcome(request, "fail" if reasons else "pass", reasons, prepared=prepared, movements=tuple(moved))


def _prepared(request: GateRequest, now: str) -> PreparedRuns | GateOutcome:
    """Find both runs and check that they are comparable; if there is nothing to compare, say what comes of it."""
    try:
        history = read_history(request.results)
        candidate = history.run(-1) if len(history) else None
        chosen = find_baseline(history, request.baseline)
    except ResultsFileError as error:
        return _refusal(request, [Refusal(text=str(error))])
    if candidate is None or chosen is None:
        return _without_baseline(request, candidate)
    found = refusals(chosen.run, candidate)
    notes = [*remarks(chosen.run, candidate), *_age(chosen.run, now)]
    notes += [f"Allowed: {each.text}." for each in found if each.allow in request.allowed]
    prepared = PreparedRuns(chosen.run, candidate, chosen.how, tuple(notes))
    open_ = [each for each in found if each.allow not in request.allowed or each.allow is None]
    return _refusal(request, open_, prepared) if open_ else prepared


def _outcome(
    request: GateRequest,
    verdict: GateVerdict,
    reasons: Sequence[str],
    *,
    prepared: PreparedRuns | None = None,
    **more: Any,
) -> GateOutcome:
    """Put together what the gate says."""
    if prepared is not None:
        more |= {
            "run_id": prepared.candidate.run_id,
            "timestamp": prepared.candidate.timestamp,
            "baseline_run_id": prepared.baseline.run_id,
            "baseline_timestamp": prepared.baseline.timestamp,
            "baseline": prepared.how,
            "notes": prepared.notes,
        }
    return GateOutcome(
        verdict=verdict, exit_code=EXIT_CODES[verdict], limits=request.limits, reasons=tuple(reasons), **more
    )


def _refusal(request: GateRequest, found: Sequence[Refusal], prepared: PreparedRuns | None = None) -> GateOutcome:
    allow = dict.fromkeys(each.allow for each in found)
    able = () if None in allow else tuple(allow)  # nothing helps if one of them cannot be allowed
    return _outcome(request, "refused", [each.text for each in found], prepared=prepared, allow=able)


def _without_baseline(request: GateRequest, candidate: HarnessRun | None) -> GateOutcome:
    history = request.results / "history.json"
    runs = "only this run" if candidate else "no runs"
    note = f"{history} has {runs}. Keep {request.results} between builds: without a history, every build passes."
    about: dict[str, Any] = {"run_id": candidate.run_id, "timestamp": candidate.timestamp} if candidate else {}
    if request.require_baseline:
        return _outcome(request, "refused", [f"there is nothing to compare with: {note}"], **about)
    return _outcome(request, "skipped", [SKIPPED], notes=(note,), **about)


def _why_nothing(before: HarnessSummary, after: HarnessSummary) -> str:
    of = "the latest run" if _is_empty(after) else "the baseline"
    tasks = min(before.total_tasks, after.total_tasks)
    why = f"has no tasks in {of}" if tasks < 1 else f"has no answers in {of}: every task failed"
    return f"the configuration {after.config_id} {why}"


def _is_empty(summary: HarnessSummary) -> bool:
    values = (summary.task_completion_rate, summary.retries_per_task, summary.latency_avg_ms)
    return summary.total_tasks < 1 or None in values


def _age(baseline: HarnessRun, now: str) -> list[str]:
    try:
        age = _time(now) - _time(baseline.timestamp)
    except ValueError:  # a file written elsewhere
        return []
    return [f"The baseline is {many(age.days, 'day')} old."] if age > _OLD else []


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
