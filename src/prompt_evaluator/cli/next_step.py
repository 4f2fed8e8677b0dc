"""The one command that is worth typing after a run."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.app.advice import ENOUGH_FOR_SPREAD, is_spread
from prompt_evaluator.cli.text import wrap
from prompt_evaluator.model.declaration import NO_RUBRIC
from prompt_evaluator.model.options import DEFAULT_SAMPLES, OPTIONS

if TYPE_CHECKING:
    from prompt_evaluator.app.outcomes import Outcome
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.result import OverallMetric

_COOLER = "0.3"
_DEFAULTS = {option.flag: (option.default_text or "").removesuffix(".0") for option in OPTIONS.values()}


def next_step(outcome: Outcome, width: int) -> list[str]:
    """The command on lines of so many columns, broken as a shell understands it."""
    plan, result = outcome.record.plan, outcome.result
    if outcome.record.status == "aborted" or (result and result.totals.errors):
        return _broken(resume_command(outcome), width)
    return _after(plan, list(result.overall_metric_stats.values()) if result else [], width)


def resume_command(outcome: Outcome) -> list[str]:
    """Does what is missing, and again what failed."""
    failed = outcome.result is not None and outcome.result.totals.errors
    return ["prompt-evaluator", "resume", outcome.record.plan.run_id, *(["--retry-errors"] if failed else ())]


def _after(plan: RunPlan, stats: list[OverallMetric], width: int) -> list[str]:
    """What follows a run that has all its scores."""
    if any(metric.below and not metric.near for metric in stats):
        return ["change the prompt, then:", *_again(plan, width)]
    unsure = any(is_spread(metric) for metric in stats)
    if any(metric.near for metric in stats) or (unsure and plan.num_samples < ENOUGH_FOR_SPREAD):
        return _again(plan, width, samples=max(ENOUGH_FOR_SPREAD, plan.num_samples * 2))
    if plan.num_samples < DEFAULT_SAMPLES:
        return _again(plan, width, samples=DEFAULT_SAMPLES)
    if unsure and (plan.target.temperature or 0) > float(_COOLER):
        return _again(plan, width, temperature=_COOLER)
    return _for_another_view(plan, width)


def _for_another_view(plan: RunPlan, width: int) -> list[str]:
    if plan.rubric is None:
        return wrap("change the prompt or the model, run it again, and compare", width)
    other = "content-quality" if plan.rubric.name != "content-quality" else "default"
    return _broken(["prompt-evaluator", "score", plan.run_id, "--rubric", other], width)


def _again(plan: RunPlan, width: int, *, samples: int | None = None, temperature: str | None = None) -> list[str]:
    """The run once more; with more samples, those that are there are not paid for again."""
    changes = [
        *(("--num-samples", str(samples)) if samples else ()),
        *(("--temperature", temperature) if temperature else ()),
        *(("--reuse",) if samples else ()),
    ]
    known = _command(plan, {part for part in changes if part.startswith("--")})
    if known is None:
        return wrap(f"the same command{' with ' if changes else ''}{' '.join(changes)}", width)
    return _broken([*known, *changes], width)


def _command(plan: RunPlan, changed: set[str]) -> list[str] | None:
    """What starts this run again; None where a part of it came from a file whose name was not kept."""
    judge = plan.judge
    if plan.target.template or plan.parent_run_id or plan.metrics or (judge and judge.system_prompt):
        return None
    if plan.target.prompt is None or plan.target.prompt.path is None or plan.dataset.path is None:
        return None
    settings = {
        "-d": shown_path(Path(plan.dataset.path)),
        "-s": shown_path(Path(plan.target.prompt.path)),
        "--generator-model": plan.target.model,
        "--judge-model": judge.model if judge and judge.model != plan.target.model else None,
        "--rubric": (plan.rubric.path or plan.rubric.name) if plan.rubric else NO_RUBRIC,
        "--num-samples": str(plan.num_samples),
        "--temperature": _plain(plan.target.temperature),
        "--judge-temperature": _plain(judge.temperature) if judge else None,
        "--judge-repeats": str(judge.repeats) if judge else None,
        "--max-tokens": _plain(plan.target.max_tokens),
        "--seed": _plain(plan.target.seed),
        "--attempts": str(plan.target.attempts),
        "--reducers": ",".join(plan.reducers) or None,
        "--case-ids": ",".join(plan.filters.get("case_ids") or ()) or None,
        "--max-cases": _plain(plan.filters.get("max_cases")),
        "-o": shown_path(Path(plan.output_dir)) if Path(plan.output_dir) != Path.cwd() / "runs" else None,
    }
    parts = ["prompt-evaluator", "evaluate-dataset"]
    for flag, value in settings.items():
        if value is not None and flag not in changed and _DEFAULTS.get(flag) != value:
            parts += [flag, value]
    parts += ["--render-prompt"] if plan.target.render_prompt else []
    for name, value in plan.target.params.items():
        parts += ["--param", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    for where in plan.filters.get("where") or ():
        parts += ["--where", where]
    for name, bar in plan.fail_under.items():
        parts += ["--fail-under", f"{name}={bar:g}"]
    return parts


def _plain(number: float | None) -> str | None:
    return None if number is None else str(int(number)) if float(number).is_integer() else str(number)


def _broken(parts: list[str], width: int) -> list[str]:
    """A command on as many lines as it needs; a flag stays with its value."""
    groups: list[str] = []
    for part in map(shlex.quote, parts):
        if groups and groups[-1].startswith("-") and " " not in groups[-1] and not part.startswith("-"):
            groups[-1] += f" {part}"
        else:
            groups.append(part)
    lines = [groups[0]]
    for group in groups[1:]:
        if len(lines[-1]) + 1 + len(group) + 2 <= width:
            lines[-1] += f" {group}"
        else:
            lines.append(f"  {group}")
    return [f"{line} \\" if at < len(lines) - 1 else line for at, line in enumerate(lines)]


def shown_path(path: Path) -> str:
    """The path from here where that is shorter."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") or len(relative) >= len(str(path)) else relative
