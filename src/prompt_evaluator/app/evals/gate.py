"""The release gate over the harness's results."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from prompt_evaluator.app.evals.deciding import by_limits, by_noise
from prompt_evaluator.app.evals.named_runs import PREVIOUS, HarnessFolder, find_baseline, latest_run
from prompt_evaluator.errors import IncomparableError, ResultsFileError, StoreError
from prompt_evaluator.gate.comparable import refusals, remarks
from prompt_evaluator.harness.verdicts import record_verdict
from prompt_evaluator.model.harness import RecordedVerdict
from prompt_evaluator.model.harness_gate import EXIT_CODES, SKIPPED, GateOutcome, Refusal
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from prompt_evaluator.model.harness import HarnessRun
    from prompt_evaluator.model.harness_gate import Difference, GateLimits, GateVerdict, Policy

_OLD = timedelta(days=7)


class GateRequest(NamedTuple):
    """What to judge, and how."""

    folder: HarnessFolder
    limits: GateLimits
    baseline: str = PREVIOUS
    """A run, a file, `previous`, `last-passed` or `pinned`."""
    require_baseline: bool = False
    allowed: Collection[Difference] = ()
    """Differences between the runs that do not matter."""
    policy: Policy = "threshold"
    inconclusive: Literal["pass", "fail"] | None = None
    """What counts as what, if the policy `noise` cannot tell."""


class PreparedRuns(NamedTuple):
    """Two runs that may be compared."""

    baseline: HarnessRun
    candidate: HarnessRun
    how: str
    """How the baseline was chosen, in words."""
    notes: tuple[str, ...]


def judge_release(request: GateRequest, now: str) -> GateOutcome:
    """Compare the newest run with its baseline, and record the verdict."""
    return _recorded(request, preview_release(request, now), now)


def preview_release(request: GateRequest, now: str) -> GateOutcome:
    """Compare the newest run with its baseline, and record nothing."""
    prepared = _prepared(request, now)
    if isinstance(prepared, GateOutcome):
        return prepared
    runs = prepared.baseline, prepared.candidate, request.limits
    found = by_noise(*runs, request.inconclusive) if request.policy == "noise" else by_limits(*runs)
    outcome = _outcome(
        request, found.verdict, found.reasons, prepared=prepared, movements=found.movements, noise=found.noise
    )
    return msgspec.structs.replace(outcome, exit_code=found.exit_code)


def _prepared(request: GateRequest, now: str) -> PreparedRuns | GateOutcome:
    """Find both runs and check that they are comparable; if there is nothing to compare, say what comes of it."""
    try:
        candidate = latest_run(request.folder)
        chosen = find_baseline(request.folder, request.baseline)
    except (ResultsFileError, IncomparableError) as error:
        return _refusal(request, [Refusal(text=str(error))])
    if candidate is None or chosen is None:
        return _without_baseline(request, candidate)
    found = refusals(chosen.run, candidate, allow_errors=request.policy == "noise")
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
        verdict=verdict,
        exit_code=EXIT_CODES[verdict],
        policy=request.policy,
        limits=request.limits,
        reasons=tuple(reasons),
        **more,
    )


def _refusal(request: GateRequest, found: Sequence[Refusal], prepared: PreparedRuns | None = None) -> GateOutcome:
    """There is no verdict; it is not recorded."""
    allow = dict.fromkeys(each.allow for each in found)
    able = () if None in allow else tuple(allow)  # nothing helps if one of them cannot be allowed
    return _outcome(request, "refused", [each.text for each in found], prepared=prepared, allow=able)


def _recorded(request: GateRequest, found: GateOutcome, now: str) -> GateOutcome:
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
        return _outcome(request, "refused", [f"there is nothing to compare with: {note}"], **about)
    return _outcome(request, "skipped", [SKIPPED], notes=(note,), **about)


def _age(baseline: HarnessRun, now: str) -> list[str]:
    try:
        age = _time(now) - _time(baseline.timestamp)
    except ValueError:  # a file written elsewhere
        return []
    return [f"The baseline is {many(age.days, 'day')} old."] if age > _OLD else []


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
