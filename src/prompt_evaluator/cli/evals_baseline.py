"""`prompt-evaluator evals baseline`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.evals.baseline import set_baseline, show_baseline
from prompt_evaluator.app.evals.named_runs import HarnessFolder
from prompt_evaluator.cli.evals_dir import evals_dir_option
from prompt_evaluator.cli.output import print_json, print_lines
from prompt_evaluator.cli.text import clean, columns, wrap
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from pathlib import Path


@click.group("baseline")
def baseline_command() -> None:
    """Pin the run that `evals gate --baseline pinned` compares with, or show it."""


@baseline_command.command("set")
@click.argument("run")
@evals_dir_option
@click.option("--note", metavar="TEXT", help="Why this run, such as the release that it was.")
def set_command(run: str, *, evals_dir: Path, note: str | None) -> None:
    """Pin RUN: `latest`, the id of a run in `results/history.json` or its beginning, or a file with a run.

    Writes the whole run, without the text of answers, to `baseline.json` in the harness's folder. Commit that file:
    then every checkout has the baseline, with or without a history.

    Exit codes: 0; 2 if there is no such run or it is incomplete; 3 if a file cannot be read.
    """
    folder = HarnessFolder(evals_dir)
    pinned = set_baseline(folder, run, note=note, now=now())
    click.echo(clean(f"Pinned run {pinned.run.run_id} in {folder.pin}."))


@baseline_command.command("show")
@evals_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def show_command(*, evals_dir: Path, as_json: bool) -> None:
    """Show the pinned run.

    Exit codes: 0, also if no run is pinned; 3 if the file cannot be read.
    """
    folder = HarnessFolder(evals_dir)
    pinned = show_baseline(folder)
    if as_json:
        print_json(pinned or {"run": None})
    elif pinned is None:
        click.echo("No run is pinned. Pin one: prompt-evaluator evals baseline set RUN")
    else:
        configurations = many(len(pinned.run.summaries), "configuration")
        note = f" {pinned.note}" if pinned.note else ""
        text = (
            f"Run {pinned.run.run_id} ({pinned.run.timestamp[:16].replace('T', ' ')}, {configurations}), "
            f"pinned on {pinned.pinned_at[:10]}.{note}"
        )
        print_lines(wrap(clean(text), columns(sys.stdout) - 1))
