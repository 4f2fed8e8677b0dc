"""The one command that is worth typing after a run."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.model.declaration import NO_RUBRIC
from prompt_evaluator.model.findings import NextStep
from prompt_evaluator.model.options import DEFAULT_SAMPLES, OPTIONS
from prompt_evaluator.model.several import join_words, written_pair
from prompt_evaluator.reports.levels import COOLER, ENOUGH_FOR_SPREAD, is_spread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model import RunPlan, RunRecord
    from prompt_evaluator.model.findings import StepCode
    from prompt_evaluator.model.result import RunResult

_COMPARE = "change the prompt or the model, run it again, and compare"
_DEFAULTS = {option.flag: (option.default_text or "").removesuffix(".0") for option in OPTIONS.values()}


def next_step(record: RunRecord, result: RunResult, seen_from: Path) -> NextStep:
    """What to do about this result. Paths in it are as they are written in the folder `seen_from`."""
    if record.status == "aborted" or result.totals.errors:
        return _command("resume", resume_command(record, result))
    return _after(record.plan, result, seen_from)


def resume_command(record: RunRecord, result: RunResult | None) -> tuple[str, ...]:
    """Does what is missing, and again what failed."""
    failed = result is not None and result.totals.errors
    return ("prompt-evaluator", "resume", record.plan.run_id, *(["--retry-errors"] if failed else ()))


def shown_path(path: Path, seen_from: Path) -> str:
    """An absolute path, or the way from that folder where that is shorter."""
    relative = os.path.relpath(path, seen_from)
    return str(path) if relative.startswith("..") or len(relative) >= len(str(path)) else relative


def _after(plan: RunPlan, result: RunResult, seen_from: Path) -> NextStep:
    """What follows a run that has all its scores."""
    stats = result.overall_metric_stats.values()
    if any(metric.below and not metric.near for metric in stats):
        return _again("after_a_change", plan, seen_from, [], before="change the prompt, then:")
    spread = any(is_spread(metric) for metric in stats)
    if any(metric.near for metric in stats) or (spread and plan.num_samples < ENOUGH_FOR_SPREAD):
        return _with_samples(max(ENOUGH_FOR_SPREAD, plan.num_samples * 2), plan, seen_from)
    if plan.num_samples < DEFAULT_SAMPLES:
        return _with_samples(DEFAULT_SAMPLES, plan, seen_from)
    if spread and (plan.target.temperature or 0) > COOLER:
        return _again("lower_temperature", plan, seen_from, ["--temperature", f"{COOLER:g}"])
    return _for_another_view(plan)


def _for_another_view(plan: RunPlan) -> NextStep:
    if plan.rubric is None:
        return NextStep(code="compare", text=_COMPARE)
    other = "content-quality" if plan.rubric.name != "content-quality" else "default"
    return _command("another_rubric", ("prompt-evaluator", "score", plan.run_id, "--rubric", other))


def _with_samples(samples: int, plan: RunPlan, seen_from: Path) -> NextStep:
    """With more samples; those that are there are not paid for again."""
    return _again("more_samples", plan, seen_from, ["--num-samples", str(samples), "--reuse"])


def _again(
    code: StepCode, plan: RunPlan, seen_from: Path, changes: list[str], *, before: str | None = None
) -> NextStep:
    """The run once more, with these flags in place of its own."""
    if not _is_known(plan):
        return NextStep(code=code, before=before, text=_in_words(changes))
    changed = {part for part in changes if part.startswith("--")}
    return _command(code, (*_settings(plan, seen_from, changed), *_repeated(plan), *changes), before=before)


def _in_words(changes: list[str]) -> str:
    return f"the same command with {' '.join(changes)}" if changes else "the same command"


def _command(code: StepCode, arguments: tuple[str, ...], *, before: str | None = None) -> NextStep:
    return NextStep(code=code, before=before, arguments=arguments, text=shlex.join(arguments))


def _is_known(plan: RunPlan) -> bool:
    """Whether all of the run's command is: not where a part of it came from a file whose name was not kept."""
    if plan.target.template or plan.parent_run_id or plan.metrics or (plan.judge and plan.judge.system_prompt):
        return False
    return bool(plan.target.prompt and plan.target.prompt.path is not None and plan.dataset.path is not None)


def _settings(plan: RunPlan, seen_from: Path, changed: set[str]) -> Iterator[str]:
    """What starts this run again, without flags that say what holds anyway."""
    yield from ("prompt-evaluator", "evaluate-dataset")
    for flag, value in (_inputs(plan, seen_from) | _numbers(plan) | _places(plan, seen_from)).items():
        if value is not None and flag not in changed and _DEFAULTS.get(flag) != value:
            yield from (flag, value)


def _inputs(plan: RunPlan, seen_from: Path) -> dict[str, str | None]:
    target, judge, rubric = plan.target, plan.judge, plan.rubric
    prompt = target.prompt.path if target.prompt else None
    return {
        "-d": shown_path(Path(plan.dataset.path), seen_from) if plan.dataset.path else None,
        "-s": shown_path(Path(prompt), seen_from) if prompt else None,
        "--generator-model": target.model,
        "--judge-model": judge.model if judge and judge.model != target.model else None,
        "--rubric": (rubric.path or rubric.name) if rubric else NO_RUBRIC,
    }


def _numbers(plan: RunPlan) -> dict[str, str | None]:
    target, judge = plan.target, plan.judge
    return {
        "--num-samples": str(plan.num_samples),
        "--temperature": _plain(target.temperature),
        "--judge-temperature": _plain(judge.temperature) if judge else None,
        "--judge-repeats": str(judge.repeats) if judge else None,
        "--max-tokens": _plain(target.max_tokens),
        "--seed": _plain(target.seed),
        "--attempts": str(target.attempts),
    }


def _places(plan: RunPlan, seen_from: Path) -> dict[str, str | None]:
    folder = Path(plan.output_dir)
    return {
        "--reducers": ",".join(plan.reducers) or None,
        "--case-ids": join_words(plan.filters.get("case_ids") or ()) or None,
        "--max-cases": _plain(plan.filters.get("max_cases")),
        "--only": plan.filters.get("only"),
        "--of": plan.filters.get("of"),
        "-o": shown_path(folder, seen_from) if folder != seen_from / "runs" else None,
    }


def _repeated(plan: RunPlan) -> Iterator[str]:
    """Flags that may be given more than once, or that have no value."""
    if plan.target.render_prompt:
        yield "--render-prompt"
    for name, value in plan.target.params.items():
        yield from ("--param", written_pair(f"{name}={value if isinstance(value, str) else json.dumps(value)}"))
    for where in plan.filters.get("where") or ():
        yield from ("--where", written_pair(where))
    for name, bar in plan.fail_under.items():
        yield from ("--fail-under", f"{name}={bar:g}")


def _plain(number: float | None) -> str | None:
    return None if number is None else str(int(number)) if float(number).is_integer() else str(number)
