"""What all commands that carry out runs share: flags, signals, progress, the end, and the exit code."""

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
from prompt_evaluator.app.findings import how_to_continue
from prompt_evaluator.app.planning.options import run_limits
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.cli.command_line import program, typed_command
from prompt_evaluator.cli.options import options
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.cli.progress import make_watcher
from prompt_evaluator.cli.summary import print_summary
from prompt_evaluator.model.options import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from prompt_evaluator.app.session import Stoppable
    from prompt_evaluator.model import CommandLine
    from prompt_evaluator.model.outcome import Outcome

T = TypeVar("T")

_MISSED, _FAILED = 1, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """The flags that every command has that carries out runs."""

    limits: dict[str, Any]
    """How far the run may go: what was given of `RunLimits`."""
    as_json: bool
    strict: bool
    verbose: int
    log_file: Path | None


_OPTIONS = (
    options(*LIMITS),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output and nothing else."),
    click.option("--strict", is_flag=True, help="Exit 3 when a sample lacks a score, or a metric has none."),
    click.option("--verbose", "-v", count=True, help="Say more while it runs."),
    click.option("--log-file", type=click.Path(path_type=Path, dir_okay=False), help="Write progress there, too."),
)


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these flags; it receives them together, as `flags`."""

    @functools.wraps(command)
    def with_flags(**given: Any) -> None:
        limits = {name: given.pop(name) for name in LIMITS}
        others = {name: given.pop(name) for name in RunFlags.__dataclass_fields__ if name != "limits"}
        command(flags=RunFlags(limits=limits, **others), **given)

    for option in reversed(_OPTIONS):
        with_flags = option(with_flags)
    return with_flags


class RunCommand:
    """Runs a use case to its end, however that comes about."""

    def __init__(
        self, flags: RunFlags, config_path: Path | None = None, given: Mapping[str, Any] | None = None
    ) -> None:
        """Take the common flags, the configuration file, and what else was given by flag."""
        self._flags, self._given = flags, frozenset(given or ())
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

    def typed(self) -> CommandLine:
        """What was typed, to be kept with the run."""
        return with_variables(typed_command(click.get_current_context()), self.settings, {*self._given, *LIMITS})

    def carry_out(
        self,
        use_case: Callable[[Session], Coroutine[None, None, Outcome]],
        *,
        before_summary: Callable[[Outcome], None] | None = None,
    ) -> None:
        """Print how it went and exit with the code that says so."""
        outcome = self.wait_for(use_case(self.session))
        if self._flags.as_json:
            print_json(run_document(outcome))
        elif before_summary:
            before_summary(outcome)
        sys.exit(self.conclude(outcome))

    def wait_for(self, work: Coroutine[None, None, T]) -> T:
        """Do the work, with an ear for signals."""
        try:
            return asyncio.run(self._with_signals(work))
        finally:
            self._watcher.ended()

    def conclude(self, outcome: Outcome) -> int:
        """Print the summary of a run, unless JSON is wanted, and return the exit code that says how it went."""
        if not self._flags.as_json:
            print_summary(outcome)
        self._warn(outcome, seen=not self._flags.as_json and sys.stdout.isatty())
        return self._exit_code(outcome)

    async def _with_signals(self, work: Coroutine[None, None, T]) -> T:
        loop = asyncio.get_running_loop()
        for caught in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(caught, self._interrupt, caught)
        async with self.session.workspace:
            return await work

    def _remember(self, run: Stoppable) -> None:
        self._run = run
        if self._caught is not None:  # the one before had nothing left that could be stopped
            run.stop(f"interrupted by {self._caught.name}")

    def _interrupt(self, caught: signal.Signals) -> None:
        if self._caught is not None or self._run is None:
            os._exit(128 + caught)  # asked twice, or before there was anything to save
        self._caught = caught
        self._watcher.note("Stopping: finishing calls in flight. Press Ctrl-C again to quit now.")
        self._run.stop(f"interrupted by {caught.name}")

    def _warn(self, outcome: Outcome, *, seen: bool) -> None:
        """Say what went wrong; why a run stopped and how to continue is not said twice to whoever sees the summary."""
        status = outcome.record.status
        if status == "partial":
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

    def _exit_code(self, outcome: Outcome) -> int:
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
    """Which run it is about, where several were started together."""
    plan = outcome.record.plan
    alone = plan.group_id == plan.run_id or plan.parent_run_id is not None
    return "" if alone else f"Run {plan.run_id} of {plan.target.model}: "
