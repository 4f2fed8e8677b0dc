"""What all commands that carry out runs share: signals, progress, the end, and the exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from prompt_evaluator.app.evaluate import Session
from prompt_evaluator.cli.progress import PlainProgress
from prompt_evaluator.cli.summary import print_summary
from prompt_evaluator.providers.meter import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from prompt_evaluator.app.runs import Outcome, Run

_BELOW, _FAILED = 1, 3


class RunCommand:
    """Runs a use case to its end, however that comes about."""

    def __init__(self, *, max_concurrency: int | None, as_json: bool, strict: bool) -> None:
        self._as_json, self._strict = as_json, strict
        self._caught: signal.Signals | None = None
        self._run: Run | None = None
        meter = Meter()
        self.session = Session(
            watcher=PlainProgress(meter), meter=meter, max_concurrency=max_concurrency, on_run=self._remember
        )

    def carry_out(self, use_case: Callable[[Session], Coroutine[None, None, Outcome]]) -> None:
        """Print the summary and exit with the code that says how it went."""
        outcome = asyncio.run(self._with_signals(use_case))
        if self._as_json:
            sys.stdout.buffer.write(
                msgspec.json.format(msgspec.json.encode(outcome_as_json(outcome)), indent=2) + b"\n"
            )
        else:
            print_summary(outcome)
        self._warn(outcome)
        sys.exit(self._exit_code(outcome))

    async def _with_signals(self, use_case: Callable[[Session], Coroutine[None, None, Outcome]]) -> Outcome:
        loop = asyncio.get_running_loop()
        for caught in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(caught, self._interrupt, caught)
        return await use_case(self.session)

    def _remember(self, run: Run) -> None:
        self._run = run

    def _interrupt(self, caught: signal.Signals) -> None:
        if self._caught is not None or self._run is None:
            os._exit(128 + caught)  # asked twice, or before there was anything to save
        self._caught = caught
        click.echo(f"{caught.name}: finishing what is under way; once more to leave at once.", err=True)
        self._run.stop(f"interrupted by {caught.name}")

    def _warn(self, outcome: Outcome) -> None:
        record = outcome.record
        if outcome.stopped_by is not None:
            click.echo(f"Error: {outcome.stopped_by}", err=True)
        if record.status == "aborted":
            click.echo(f"Continue with: prompt-evaluator resume {record.plan.run_id}", err=True)
        elif record.status == "partial":
            click.echo("Warning: some samples have no score; see errors above.", err=True)

    def _exit_code(self, outcome: Outcome) -> int:
        status = outcome.record.status
        if self._caught is not None and status == "aborted":
            return 128 + self._caught
        if status in ("failed", "aborted") or (status == "partial" and self._strict):
            return _FAILED
        bars = outcome.result.overall_metric_stats.values() if outcome.result else ()
        return _BELOW if any(stats.below for stats in bars) else 0


def outcome_as_json(outcome: Outcome) -> dict[str, object]:
    from prompt_evaluator.store.artifacts import RunFolder  # noqa: PLC0415

    record = outcome.record
    return {
        "run_id": record.plan.run_id,
        "status": record.status,
        "stop_reason": record.stop_reason,
        "artifact": str(RunFolder(record).main_file),
        "synthetic": record.plan.synthetic,
        "result": outcome.result,
    }
