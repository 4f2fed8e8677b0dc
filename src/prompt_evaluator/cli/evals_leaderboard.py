"""`prompt-evaluator evals leaderboard`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.evals.leaderboard import Leaderboard, leaderboard
from prompt_evaluator.app.evals.named_runs import HarnessFolder
from prompt_evaluator.cli.evals_dir import evals_dir_option
from prompt_evaluator.cli.evals_trends import NO_RUNS
from prompt_evaluator.cli.grid import Cell, Column, GridRow, grid
from prompt_evaluator.cli.output import print_json, print_lines
from prompt_evaluator.cli.text import clean, columns, wrap
from prompt_evaluator.model.wording import decimal

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.harness import HarnessSummary

_TITLES = ("Completion", "Incidents", "Latency", "Retries", "Errors", "Tasks")
_SYNTHETIC = "The offline mock answered: these numbers say nothing about a model."


@click.command("leaderboard")
@click.argument("run", required=False)
@evals_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def leaderboard_command(run: str | None, *, evals_dir: Path, as_json: bool) -> None:
    """Rank the configurations of RUN, by default the latest run of the harness.

    By completion rate, then by hallucination incidents, then by latency. RUN is the id of a run in
    `results/history.json`, its beginning, or a file with a run.

    Exit codes: 0; 2 if there is no such run; 3 if a file cannot be read.
    """
    folder = HarnessFolder(evals_dir)
    found = leaderboard(folder, run)
    if as_json:
        about = {"run_id": found.run.run_id, "timestamp": found.run.timestamp} if found else {"run_id": None}
        print_json({**about, "leaderboard": found.summaries if found else []})
    elif found is None:
        click.echo(NO_RUNS.format(history=folder.results / "history.json"))
    else:
        print_lines(_lines(found, columns(sys.stdout) - 1))


def _lines(found: Leaderboard, width: int) -> list[str]:
    run = found.run
    status = f", {run.status}" if run.status not in (None, "completed") else ""
    heading = f"Run {run.run_id} ({run.timestamp[:16].replace('T', ' ')}{status})"
    lines = [click.style(line, bold=True) for line in wrap(clean(heading), width)]
    if not found.summaries:
        return [*lines, "It has no configurations."]
    places = len(str(len(found.summaries)))
    rows = [_row(f"{at:{places}}. {each.config_id}", each) for at, each in enumerate(found.summaries, start=1)]
    lines += ["", *grid([Column(title, right=True) for title in _TITLES], rows, width)]
    return [*lines, "", *wrap(_SYNTHETIC, width)] if run.synthetic else lines


def _row(name: str, summary: HarnessSummary) -> GridRow:
    texts = (
        _number(summary.task_completion_rate, 1, " %"),
        f"{summary.hallucination_incidents:,}",
        _number(summary.latency_avg_ms, 0, " ms"),
        _number(summary.retries_per_task, 2, ""),
        f"{summary.errors:,}",
        f"{summary.total_tasks:,}",
    )
    return GridRow(name, tuple(map(Cell, texts)))


def _number(value: float | None, digits: int, unit: str) -> str:
    return "–" if value is None else f"{decimal(value, digits)}{unit}"  # noqa: RUF001
