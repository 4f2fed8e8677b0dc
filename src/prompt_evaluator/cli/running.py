"""Shared by all commands that start runs: flags, signals, progress, summary and exit code."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prompt_evaluator.app.calls import Meter
from prompt_evaluator.app.command_line import with_variables
from prompt_evaluator.app.documents import run_document
from prompt_evaluator.app.evaluate import ONE_INPUT
from prompt_evaluator.app.findings import how_to_continue
from prompt_evaluator.app.planning.options import run_limits
from prompt_evaluator.app.run_cases import show_case
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.cli.answers import print_answers
from prompt_evaluator.cli.command_line import program, typed_command
from prompt_evaluator.cli.options import options
from prompt_evaluator.cli.output import json_option, print_json
from prompt_evaluator.cli.progress import make_watcher
from prompt_evaluator.cli.summary import print_summary
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from prompt_evaluator.app.session import Stoppable
    from prompt_evaluator.model import CommandLine
    from prompt_evaluator.model.outcome import Outcome

T = TypeVar("T")

_MISSED, _FAILED = 1, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """Flags of every command that starts runs."""

    limits: dict[str, Any]
    """The fields of `RunLimits`; None for those not given."""
    as_json: bool
    strict: bool
    verbose: int
    log_file: Path | None


_OPTIONS = (
    options(*LIMITS),
    json_option,
    click.option("--strict", is_flag=True, help="Exit 3 if a sample lacks a score or a metric has none."),
    click.option("--verbose", "-v", count=True, help="Show more while the run is in progress."),
    click.option("--log-file", type=click.Path(path_type=Path, dir_okay=False), help="Also write progress to a file."),
)


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add these flags to a command, which receives them as `flags`."""

    @functools.wraps(command)
    def with_flags(**given: Any) -> None:
        limits = {name: given.pop(name) for name in LIMITS}
        others = {name: given.pop(name) for name in RunFlags.__dataclass_fields__ if name != "limits"}
        command(flags=RunFlags(limits=limits, **others), **given)

    for option in reversed(_OPTIONS):
        with_flags = option(with_flags)
    return with_flags


class RunCommand:
    """Runs a use case, handles signals, and reports how it ended."""

    def __init__(
        self,
        flags: RunFlags,
        config_path: Path | None = None,
        given: Mapping[str, Any] | None = None,
        *,
        shows_answers: bool = False,
    ) -> None:
        """Read the settings and prepare a session.

        Args:
            flags: The flags of every such command.
            config_path: The configuration file, if one was given.
            given: Values of the command's other options.
            shows_answers: Whether the answers of a run are shown before its summary.
        """
        self._flags, self._given, self._shows_answers = flags, frozenset(given or ()), shows_answers
        self.settings = read_settings(config_path, {**(given or {}), **flags.limits})
        self._caught: signal.Signals | None = None
        self._run: Stoppable | None = None
        meter = Meter()
        watcher = self._watcher = make_watcher(
            meter, stream=sys.stderr, verbose=flags.verbose, quiet=False, log_file=flags.log_file
        )
        self.session = Session(
            workspace=Workspace(self.settings),
            subscribers=(watcher,),
            meter=meter,
            limits=run_limits(self.settings),
            on_run=self._remember,
        )

    @property
    def as_json(self) -> bool:
        return self._flags.as_json

    def typed(self) -> CommandLine:
        """Return the command line as typed, to store with the run."""
        return with_variables(typed_command(click.get_current_context()), self.settings, {*self._given, *LIMITS})

    def carry_out(self, use_case: Callable[[Session], Coroutine[None, None, Outcome]]) -> None:
        """Run the use case, print the result, and exit with its code."""
        outcome = self.wait_for(use_case(self.session))
        if self._flags.as_json:
            print_json(run_document(outcome))
        sys.exit(self.conclude(outcome))

    def wait_for(self, work: Coroutine[None, None, T]) -> T:
        """Run the work, handling signals."""
        try:
            return asyncio.run(self._with_signals(work))
        finally:
            self._watcher.ended()

    def conclude(self, outcome: Outcome, *, summary: bool = True) -> int:
        """Print the run's summary, unless JSON or no summary is wanted, and return its exit code."""
        summary = summary and not self._flags.as_json
        if summary:
            if self._shows_answers:
                print_answers(show_case(self.settings, outcome.record.plan.run_id, ONE_INPUT))
            print_summary(outcome)
        self._warn(outcome, seen=summary and sys.stdout.isatty())
        return self.exit_code(outcome)

    async def _with_signals(self, work: Coroutine[None, None, T]) -> T:
        loop = asyncio.get_running_loop()
        for caught in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(caught, self._interrupt, caught)
        async with self.session.workspace:
            return await work

    def _remember(self, run: Stoppable) -> None:
        self._run = run
        if self._caught is not None:  # the signal came after the previous run's last call
            run.stop(f"interrupted by {self._caught.name}")

    def _interrupt(self, caught: signal.Signals) -> None:
        if self._caught is not None or self._run is None:
            os._exit(128 + caught)  # second signal, or nothing to save yet
        self._caught = caught
        self._watcher.note("Stopping: finishing calls in flight. Press Ctrl-C again to quit now.")
        self._run.stop(f"interrupted by {caught.name}")

    def _warn(self, outcome: Outcome, *, seen: bool) -> None:
        """Print what went wrong. If the user sees the summary (`seen`), do not repeat what it says."""
        status = outcome.record.status
        is_pairwise = outcome.record.plan.baseline_run_id is not None  # says itself which pairs it left out
        if status == "partial" and not is_pairwise:
            click.echo("Warning: some samples lack a score; see the errors in the summary.", err=True)
        bars = outcome.result.missed_bars if outcome.result and status != "aborted" else ()
        if self._flags.strict and outcome.result and not bars and status == "completed":
            for name, reason in outcome.result.not_measured.items():
                click.echo(f"Error: {name} was not measured: {reason}.", err=True)
        if seen:
            return
        for bar in bars:
            click.echo(f"Error: {_named(outcome)}{bar.reason}", err=True)
        if outcome.stopped_by is not None:
            click.echo(f"Error: {outcome.stopped_by}", err=True)
        if status == "aborted":
            click.echo(how_to_continue(outcome, program()), err=True)

    def exit_code(self, outcome: Outcome) -> int:
        status = outcome.record.status
        if self._caught is not None and status == "aborted":
            return 128 + self._caught
        if status in ("failed", "aborted") or (status == "partial" and self._flags.strict):
            return _FAILED
        if outcome.result is None:
            return 0
        if outcome.result.missed_bars:
            return _MISSED
        return _FAILED if self._flags.strict and outcome.result.not_measured else 0


def _named(outcome: Outcome) -> str:
    """Return a prefix that names the run, if several were started together."""
    plan = outcome.record.plan
    alone = plan.group_id == plan.run_id or plan.parent_run_id is not None
    return "" if alone else f"Run {plan.run_id} of {plan.target.model}: "
