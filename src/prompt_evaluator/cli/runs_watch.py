"""`prompt-evaluator runs watch`."""

from __future__ import annotations

import sys
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.findings import how_to_continue
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.watch import watch_run
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.progress import make_outlet, started_line
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.summary import print_summary
from prompt_evaluator.cli.tally import View

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.app.watch import Picture
    from prompt_evaluator.cli.progress import LinesOutlet, LiveOutlet
    from prompt_evaluator.model import RunProgress

_WINDOW = 30.0
"""Seconds over which the rate is measured, as in the process of the run itself."""


@click.command("watch", epilog=legend())
@click.argument("run")
@settings_options
def watch_command(run: str, *, config_path: Path | None) -> None:
    """Watch RUN while it is in progress in another process, and show its summary at the end.

    Ctrl-C stops watching, not the run.
    """
    screen = _Screen(make_outlet(sys.stderr))
    watched = watch_run(read_settings(config_path), run, screen.show)
    outcome, notes = watched.outcome, []
    if watched.interrupted:
        notes = [f"Interrupted: the process of this run is gone. {how_to_continue(outcome, program())}"]
    screen.end(notes)
    print_summary(outcome)


class _Screen:
    """Draws the progress of a watched run."""

    def __init__(self, outlet: LiveOutlet | LinesOutlet) -> None:
        self._outlet, self._rates = outlet, _Rates()
        self._last: View | None = None

    def show(self, picture: Picture) -> None:
        lines = [started_line(picture.record.plan)] if self._last is None else []
        self._last = self._view(picture)
        self._outlet.tick(self._last, lines)

    def end(self, notes: list[str]) -> None:
        """Remove the progress block; the summary shows the results."""
        if self._last is not None:
            self._outlet.leave(notes)
        else:
            for note in notes:
                click.echo(note, err=True)

    def _view(self, picture: Picture) -> View:
        plan, progress = picture.record.plan, picture.progress
        since = (datetime.now(UTC) - datetime.fromisoformat(picture.record.started_at)).total_seconds()
        if progress is None:
            cases = plan.dataset.selected
            samples = cases * plan.num_samples
            return View(
                seconds=since,
                samples=samples,
                samples_done=0,
                cases=cases,
                cases_done=0,
                retries={},
                errors={},
                elsewhere=True,
            )
        return View(
            seconds=since,
            samples=progress.samples,
            samples_done=progress.samples_done,
            cases=progress.cases,
            cases_done=progress.cases_done,
            rate=self._rates.rate(progress),
            input_tokens=progress.input_tokens,
            output_tokens=progress.output_tokens,
            cost=progress.cost or 0.0,
            unpriced=progress.unpriced,
            answers=progress.unpriced if progress.cost is None else progress.unpriced + 1,
            retries={},
            errors=progress.errors,
            unscored=progress.unscored,
            elsewhere=True,
        )


class _Rates:
    """The rate over the last pictures; between two of them there may be no samples or many."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def rate(self, progress: RunProgress) -> float | None:
        at = datetime.fromisoformat(progress.updated_at).timestamp()
        if not self._seen or self._seen[-1][0] < at:
            self._seen.append((at, progress.samples_done))
        while self._seen[-1][0] - self._seen[0][0] > _WINDOW:
            self._seen.popleft()
        (since, before), (until, done) = self._seen[0], self._seen[-1]
        return (done - before) / (until - since) if until > since else progress.rate
