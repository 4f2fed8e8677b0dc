"""The most useful command to type after a run."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model.findings import NextStep
from prompt_evaluator.model.options import DEFAULT_SAMPLES
from prompt_evaluator.model.wording import is_known, listed
from prompt_evaluator.reports.levels import COOLER, ENOUGH_FOR_SPREAD, is_spread

if TYPE_CHECKING:
    from prompt_evaluator.model import CommandLine, RunPlan, RunRecord
    from prompt_evaluator.model.findings import StepCode
    from prompt_evaluator.model.result import RunResult

PROGRAM = ("prompt-evaluator",)
_COMPARE = "change the prompt or the model, run again and compare"
_SAMPLES, _TEMPERATURE, _REUSE, _RUBRIC = "--num-samples", "--temperature", "--reuse", "--rubric"
_HARNESS_SAMPLES, _HARNESS_FOLDER = "--samples", "--evals-dir"
_SAME_AS = {_SAMPLES: ("--quick",)}
"""Switches that set the same value as the flag."""
_CARRIED = ("--config", "--store")
"""Options that a command about a run repeats if the run was started with them."""
_WITH_JUDGE = (*_CARRIED, "--allow-mock-judge")


class Reader(msgspec.Struct, frozen=True):
    """Where the command will be typed, and what starts the program there."""

    folder: Path
    """Absolute."""
    program: tuple[str, ...] = PROGRAM


def next_step(record: RunRecord, result: RunResult, reader: Reader) -> NextStep:
    """Return what to do about this result."""
    if record.status in ("queued", "running"):
        return _Writer(record.plan, reader).to_watch()
    if record.status == "aborted" or result.totals.errors:
        return continuation(record.plan, result, reader)
    return _after(record.plan, result, _Writer(record.plan, reader))


def continuation(plan: RunPlan, result: RunResult | None, reader: Reader) -> NextStep:
    """Return how to finish an incomplete run, or how to start a better one if it cannot be finished."""
    writer = _Writer(plan, reader)
    if plan.harness:
        return writer.harness_again(is_unfinished=result is None or "pending" in result.totals.cases)
    if result is None:
        return writer.about_the_run("resume", "resume", ())
    if "ModelNotFoundError" in result.totals.errors:
        return writer.with_another_model(judge=_is_judges(result, "ModelNotFoundError"))
    retry = ("--retry-errors",) if result.totals.errors else ()
    return writer.about_the_run("resume", "resume", retry, before=_before_resuming(result))


def more_samples(plan: RunPlan, samples: int, reader: Reader) -> NextStep:
    """Return how to make the same run with more samples, reusing those that it has."""
    return _Writer(plan, reader).with_samples(samples)


def typed_again(plan: RunPlan) -> str | None:
    """Return the command that started the run, to be typed in the folder where it was; None if it is not known."""
    typed = plan.command
    return _Writer(plan, Reader(Path(typed.folder))).again("compare").text if typed and _is_printable(typed) else None


def shown_path(path: Path, seen_from: Path) -> str:
    """Return an absolute path, or one relative to the folder if that is below it and shorter."""
    relative = os.path.relpath(path, seen_from)
    return str(path) if relative.startswith("..") or len(relative) >= len(str(path)) else relative


def _before_resuming(result: RunResult) -> str | None:
    """Return what the user has to fix first, because retrying does not help: a key, a login, or their own code."""
    if "AuthenticationError" in result.totals.errors:
        return "fix the API key, then:"
    if "ProxyLoginError" in result.totals.errors:
        return "fix the proxy's login, then:"
    broken = [failure.metric for failure in result.totals.failures if failure.metric and not is_known(failure.kind)]
    return f"fix {listed(dict.fromkeys(broken))}, then:" if broken else None


def _is_judges(result: RunResult, kind: str) -> bool:
    """Whether an error of this kind came from a judge rather than the model under test."""
    return any(failure.kind == kind and failure.metric is not None for failure in result.totals.failures)


def _after(plan: RunPlan, result: RunResult, writer: _Writer) -> NextStep:
    """Return the next step after a run that has all its scores."""
    if plan.parent_run_id:
        return writer.with_another_rubric()
    stats = result.overall_metric_stats.values()
    above = any(flag.above for flag in result.overall_flag_stats.values())
    if above or any(metric.below and not metric.near for metric in stats):
        return writer.again("after_a_change", before=f"{_change(plan)}, then:")
    spread = any(is_spread(metric) for metric in stats)
    if any(metric.near for metric in stats) or (spread and plan.num_samples < ENOUGH_FOR_SPREAD):
        return writer.with_samples(max(ENOUGH_FOR_SPREAD, plan.num_samples * 2))
    if plan.num_samples < DEFAULT_SAMPLES:
        return writer.with_samples(DEFAULT_SAMPLES)
    if spread and (plan.target.temperature or 0) > COOLER and not plan.harness:
        return writer.again("lower_temperature", {_TEMPERATURE: f"{COOLER:g}"})
    return writer.with_another_rubric()


def _change(plan: RunPlan) -> str:
    return "change the prompt" if plan.target.prompt else "change the model or how it is called"


class _Writer:
    """Writes commands about one run for one reader."""

    def __init__(self, plan: RunPlan, reader: Reader) -> None:
        self._plan, self._reader = plan, reader
        self._typed = plan.command

    def with_samples(self, samples: int) -> NextStep:
        """Run again with more samples, reusing the existing ones."""
        if self._plan.harness:  # whose answers are always new
            return self.again("more_samples", {_HARNESS_SAMPLES: str(samples)})
        return self.again("more_samples", {_SAMPLES: str(samples), _REUSE: None})

    def harness_again(self, *, is_unfinished: bool) -> NextStep:
        """Finish a run of the release harness, or run it again: its results are kept in files of its own."""
        if not is_unfinished or self._typed is None:
            return self.again("after_a_change", before="correct what failed, then:")
        folder = self._typed.value(_HARNESS_FOLDER)
        named = (_HARNESS_FOLDER, folder) if folder else ()
        return self._command("resume", (*self._typed.name, *named, "--resume"), self._typed.folder, before=None)

    def with_another_rubric(self) -> NextStep:
        if self._plan.rubric is None:
            return self.again("compare", before="change the prompt or the model, then:", otherwise=_COMPARE)
        other = "content-quality" if self._plan.rubric.name != "content-quality" else "default"
        if self._plan.parent_run_id:
            return self.again("another_rubric", {_RUBRIC: other})
        return self.about_the_run("another_rubric", "score", (_RUBRIC, other), carried=_WITH_JUDGE)

    def to_watch(self) -> NextStep:
        """Follow a run that is in progress."""
        return self.about_the_run("watch", "runs watch", ())

    def with_another_model(self, *, judge: bool) -> NextStep:
        """Run again, with the model name in the command so that it can be corrected, even if a setting gave it."""
        model = self._plan.judge.model if judge and self._plan.judge else self._plan.target.model
        of_target = "--model" if self._typed and self._typed.name[0] == "benchmark" else "--generator-model"
        flag = "--judge-model" if judge or self._plan.parent_run_id else of_target
        written = (self._typed.value(flag) if self._typed else None) or model
        return self.again("another_model", {flag: written}, before=f"correct the model name {written}, then:")

    def about_the_run(
        self,
        code: StepCode,
        name: str,
        more: tuple[str, ...],
        *,
        before: str | None = None,
        carried: tuple[str, ...] = _CARRIED,
    ) -> NextStep:
        """Run another command with the run's id."""
        kept = [
            part for option in (self._typed.options if self._typed else ()) if option[0] in carried for part in option
        ]
        folder = self._typed.folder if self._typed and not {*_CARRIED}.isdisjoint(kept) else None
        return self._command(code, (*name.split(), self._plan.run_id, *more, *kept), folder, before=before)

    def again(
        self,
        code: StepCode,
        changes: dict[str, str | None] | None = None,
        *,
        before: str | None = None,
        otherwise: str | None = None,
    ) -> NextStep:
        """Repeat the run with these flags replacing its own; the value of a switch is None."""
        changes = changes or {}
        added = [part for flag, value in changes.items() for part in (flag, value) if part is not None]
        typed = self._typed
        if typed is None or not _is_printable(typed):
            words = f"the same command{' with ' if added else ''}{shlex.join(added)}"
            return NextStep(code=code, before=before if otherwise is None else None, text=otherwise or words)
        replaced = {*changes, *(same for flag in changes for same in _SAME_AS.get(flag, ()))}
        return self._command(code, (*_words(typed, replaced), *added), typed.folder, before=before)

    def _command(self, code: StepCode, parts: tuple[str, ...], folder: str | None, *, before: str | None) -> NextStep:
        here = str(self._reader.folder)
        program = self._reader.program
        elsewhere = folder if folder != here else None
        if elsewhere and os.sep in program[0]:
            program = (str(self._reader.folder / program[0]), *program[1:])
        arguments = (*program, *parts)
        start = f"cd {shlex.quote(elsewhere)} && " if elsewhere else ""
        return NextStep(
            code=code, before=before, folder=elsewhere, arguments=arguments, text=start + shlex.join(arguments)
        )


def _is_printable(typed: CommandLine) -> bool:
    return all(map(str.isprintable, _words(typed, ())))


def _words(typed: CommandLine, without: set[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Return the command as typed, without the program; arguments come first, so that no flag takes one."""
    options = [part for option in typed.options if option[0] not in without for part in option]
    if any(argument.startswith("-") for argument in typed.arguments):
        return (*typed.name, *options, "--", *typed.arguments)
    return (*typed.name, *typed.arguments, *options)
