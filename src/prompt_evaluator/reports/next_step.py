"""What to do after a run: a command about it, or a sentence."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.findings import NextStep
from prompt_evaluator.model.options import DEFAULT_SAMPLES
from prompt_evaluator.model.wording import is_known, listed
from prompt_evaluator.reports.levels import ENOUGH_FOR_SPREAD, is_spread

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model import RunPlan, RunRecord
    from prompt_evaluator.model.findings import StepCode
    from prompt_evaluator.model.result import RunResult

PROGRAM = ("prompt-evaluator",)
_PLACES = ("--config", "--store", "--evals-dir")
_FIX = {"AuthenticationError": "fix the API key, then:", "ProxyLoginError": "fix the proxy's login, then:"}


class Reader(NamedTuple):
    """Where the command will be typed, and what starts the program there."""

    folder: Path
    """Absolute."""
    program: tuple[str, ...] = PROGRAM


def command(code: StepCode, reader: Reader, *words: str, before: str | None = None) -> NextStep:
    arguments = (*reader.program, *words)
    return NextStep(code=code, before=before, arguments=arguments, text=shlex.join(arguments))


def next_step(record: RunRecord, result: RunResult, reader: Reader) -> NextStep:
    """Return what to do about this result."""
    plan = record.plan
    if record.status in ("queued", "running"):
        return command("watch", reader, "runs", "watch", plan.run_id, *_where(plan))
    if record.status == "aborted" or result.totals.errors:
        return continuation(plan, result, reader)
    if samples := _samples_wanted(plan, result):
        how = f"--samples {samples}" if plan.harness else f"--num-samples {samples} --reuse"
        return NextStep(code="more_samples", text=f"evaluate again with {how}")
    changed = "the prompt or the model" if plan.target.prompt else "the model or how it is called"
    before = f"change {changed}, evaluate again, then:"
    if plan.harness:
        return command("compare", reader, "evals", "gate", *_where(plan), before=before)
    return command("compare", reader, "compare", plan.run_id, "@last", *_where(plan), before=before)


def continuation(plan: RunPlan, result: RunResult | None, reader: Reader) -> NextStep:
    """Return how to finish an incomplete run, or how to start a better one if it cannot be finished."""
    if plan.harness:
        is_unfinished = result is None or "pending" in result.totals.cases
        more = ("--resume",) if is_unfinished else ()
        before = None if is_unfinished else "correct what failed, then:"
        return command("resume", reader, "evals", "run", *more, *_where(plan), before=before)
    if result is None:
        return command("resume", reader, "resume", plan.run_id, *_where(plan))
    if "ModelNotFoundError" in result.totals.errors:
        return NextStep(code="after_a_change", text="correct the name of the model, and start again")
    retry = ("--retry-errors",) if result.totals.errors else ()
    return command("resume", reader, "resume", plan.run_id, *retry, *_where(plan), before=_before_resuming(result))


def _where(plan: RunPlan) -> tuple[str, ...]:
    """The options that said where runs are, without which the run would not be found."""
    options = plan.command.options if plan.command else ()
    return tuple(word for option in options if option[0] in _PLACES for word in option)


def _samples_wanted(plan: RunPlan, result: RunResult) -> int | None:
    """How many samples per case would tell more; None if they are enough, or a bar is missed whatever they say."""
    stats = result.overall_metric_stats.values()
    if any(flag.above for flag in result.overall_flag_stats.values()) or any(
        each.below and not each.near for each in stats
    ):
        return None
    near = any(each.near for each in stats)
    if near or (any(map(is_spread, stats)) and plan.num_samples < ENOUGH_FOR_SPREAD):
        return max(ENOUGH_FOR_SPREAD, plan.num_samples * 2)
    return DEFAULT_SAMPLES if plan.num_samples < DEFAULT_SAMPLES else None


def _before_resuming(result: RunResult) -> str | None:
    """Return what the user has to fix first, because retrying does not help: a key, a login, or their own code."""
    if kind := next((kind for kind in _FIX if kind in result.totals.errors), None):
        return _FIX[kind]
    broken = [failure.metric for failure in result.totals.failures if failure.metric and not is_known(failure.kind)]
    return f"fix {listed(dict.fromkeys(broken))}, then:" if broken else None
