"""The release gate over the harness's results."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.app.evals.named_runs import PREVIOUS, HarnessFolder, find_baseline, latest_run
from prompt_evaluator.errors import ConfigurationError, IncomparableError, ResultsFileError, StoreError
from prompt_evaluator.gate.comparable import refusals, remarks
from prompt_evaluator.gate.thresholds import movements, sentence
from prompt_evaluator.harness.verdicts import record_verdict
from prompt_evaluator.model.bounds import TOLERANCE
from prompt_evaluator.model.harness import RecordedVerdict
from prompt_evaluator.model.harness_gate import EXIT_CODES, SKIPPED, GateLimits, GateOutcome, Refusal
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from prompt_evaluator.model.harness import HarnessRun
    from prompt_evaluator.model.harness_gate import Difference, GateVerdict, Movement

VARIABLES = {
    "completion_drop": "EVAL_MAX_COMPLETION_DROP",
    "latency_increase_ms": "EVAL_MAX_LATENCY_INCREASE_MS",
    "hallucination_increase": "EVAL_MAX_HALLUCINATION_INCREASE",
    "retries_increase": "EVAL_MAX_RETRIES_INCREASE",
}
_OLD = timedelta(days=7)
_SHOWN = 40


class GateRequest(NamedTuple):
    """What to judge, and how."""

    folder: HarnessFolder
    limits: GateLimits
    baseline: str = PREVIOUS
    """A run, a file, `previous`, `last-passed` or `pinned`."""
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


def gate_limits(flags: Mapping[str, float | None], environment: Mapping[str, str]) -> GateLimits:
    """The limits by flag, else by environment variable, else by default.

    Raises:
        ConfigurationError: A variable is not a number: never a check that is left out.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    for name, variable in VARIABLES.items():
        if name not in given and variable in environment:
            given[name] = _limit(variable, environment[variable])
    return GateLimits(**given)


def judge_release(request: GateRequest, now: str) -> GateOutcome:
    """Compare the newest run with its baseline by fixed limits, and record the verdict."""
    prepared = prepare_gate(request, now)
    if isinstance(prepared, GateOutcome):
        return recorded(request, prepared, now)
    moved, refused = _moved(prepared, request.limits)
    if refused:
        return refusal(request, refused, prepared)
    reasons = [sentence(each) for each in moved if each.exceeded]
    verdict: GateVerdict = "fail" if reasons else "pass"
    return recorded(request, outcome(request, verdict, reasons, prepared=prepared, movements=tuple(moved)), now)


def prepare_gate(request: GateRequest, now: str) -> PreparedRuns | GateOutcome:
    """Find both runs and check that they are comparable; if there is nothing to compare, say what comes of it."""
    try:
        candidate = latest_run(request.folder)
        chosen = find_baseline(request.folder, request.baseline)
    except (ResultsFileError, IncomparableError) as error:
        return refusal(request, [Refusal(text=str(error))])
    if candidate is None or chosen is None:
        return _without_baseline(request, candidate)
    found = refusals(chosen.run, candidate)
    notes = [*remarks(chosen.run, candidate), *_age(chosen.run, now)]
    notes += [f"Allowed: {each.text}." for each in found if each.allow in request.allowed]
    prepared = PreparedRuns(chosen.run, candidate, chosen.how, tuple(notes))
    open_ = [each for each in found if each.allow not in request.allowed or each.allow is None]
    return refusal(request, open_, prepared) if open_ else prepared


def outcome(
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
    exit_code = EXIT_CODES[verdict]
    return GateOutcome(verdict=verdict, exit_code=exit_code, limits=request.limits, reasons=tuple(reasons), **more)


def refusal(request: GateRequest, found: Sequence[Refusal], prepared: PreparedRuns | None = None) -> GateOutcome:
    """There is no verdict; it is not recorded."""
    allow = dict.fromkeys(each.allow for each in found)
    able = () if None in allow else tuple(allow)  # nothing helps if one of them cannot be allowed
    return outcome(request, "refused", [each.text for each in found], prepared=prepared, allow=able)


def recorded(request: GateRequest, found: GateOutcome, now: str) -> GateOutcome:
    """Add the verdict to `results/gate.json`. If that cannot be done, the verdict is the same, with a note."""
    if found.run_id is None or found.verdict == "refused":
        return found
    verdict = RecordedVerdict(
        run_id=found.run_id,
        baseline_run_id=found.baseline_run_id,
        timestamp=now,
        policy=found.policy,
        verdict=found.verdict,
        reasons=found.reasons,
    )
    try:
        record_verdict(request.folder.results, verdict)
    except (StoreError, ResultsFileError) as error:
        note = f"The verdict is not recorded, so `--baseline last-passed` will not know of it: {error}"
        return msgspec.structs.replace(found, notes=(*found.notes, note))
    return found


def _without_baseline(request: GateRequest, candidate: HarnessRun | None) -> GateOutcome:
    history = request.folder.results / "history.json"
    runs = "only this run" if candidate else "no runs"
    note = f"{history} has {runs}. Keep {request.folder.results} between builds: without a history, every build passes."
    about: dict[str, Any] = {"run_id": candidate.run_id, "timestamp": candidate.timestamp} if candidate else {}
    if request.require_baseline:
        return outcome(request, "refused", [f"there is nothing to compare with: {note}"], **about)
    return outcome(request, "skipped", [SKIPPED], notes=(note,), **about)


def _moved(prepared: PreparedRuns, limits: GateLimits) -> tuple[list[Movement], list[Refusal]]:
    before = {each.config_id: each for each in prepared.baseline.summaries}
    moved: list[Movement] = []
    refused = []
    for each in prepared.candidate.summaries:
        if each.config_id not in before:
            continue
        found = movements(before[each.config_id], each, limits)
        if found is None:
            tasks = [summary.total_tasks for summary in (before[each.config_id], each)]
            of = "the latest run" if _empty(each) else "the baseline"
            why = f"has no tasks in {of}" if min(tasks) < 1 else f"has no answers in {of}: every task failed"
            refused.append(Refusal(text=f"the configuration {each.config_id} {why}"))
        moved += found or []
    return moved, refused


def _empty(summary: Any) -> bool:
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


def _limit(variable: str, text: str) -> float:
    try:
        return TOLERANCE.read_text(text)
    except ValueError:
        shown = f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
        raise ConfigurationError(f"{variable}: It has to be {TOLERANCE.words}, not {shown!r}.") from None
