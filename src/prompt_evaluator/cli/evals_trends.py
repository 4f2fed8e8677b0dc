"""`prompt-evaluator evals trends`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.evals.named_runs import HarnessFolder
from prompt_evaluator.app.evals.trend_noise import VALUES
from prompt_evaluator.app.evals.trends import HarnessTrendQuery, harness_trends
from prompt_evaluator.cli.evals_dir import evals_dir_option
from prompt_evaluator.cli.evals_trends_view import harness_trend_lines
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.options import several_words
from prompt_evaluator.cli.output import print_json, print_lines
from prompt_evaluator.cli.text import columns
from prompt_evaluator.model.bounds import LISTED
from prompt_evaluator.model.several import SEVERAL

if TYPE_CHECKING:
    from pathlib import Path

NO_RUNS = "{history} has no runs yet. Start one: prompt-evaluator evals run"


@click.command("trends")
@evals_dir_option
@click.option(
    "--config-ids", multiple=True, callback=several_words, metavar="IDS", help=f"Only these configurations. {SEVERAL}"
)
@click.option("--metric", type=click.Choice(list(VALUES)), help="Show one metric in full.  [default: all, in short]")
@click.option(
    "--limit", type=number_type(LISTED), default=50, show_default=True, metavar="N", help="Use the newest N runs."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def trends_command(
    *, evals_dir: Path, config_ids: tuple[str, ...] | None, metric: str | None, limit: int, as_json: bool
) -> None:
    """Show how each configuration of the harness went over the runs in `results/history.json`, and where it changed.

    Runs are comparable if they have the same tasks and samples as the newest complete run. A change is reported if it
    is larger than the same tasks vary, from sample to sample or from run to run.

    Exit codes: 0; 2 if an option cannot be used; 3 if the history cannot be read.
    """
    folder = HarnessFolder(evals_dir)
    trends = harness_trends(folder, HarnessTrendQuery(config_ids, metric, limit))
    if as_json:
        print_json(trends or {"runs": 0, "configs": []})
    elif trends is None:
        click.echo(NO_RUNS.format(history=folder.results / "history.json"))
    else:
        print_lines(harness_trend_lines(trends, columns(sys.stdout), full=metric is not None))
