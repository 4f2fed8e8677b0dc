"""`prompt-evaluator trends`."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.findings import trend_findings
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.trend_documents import trends_document
from prompt_evaluator.app.trends import read_trends
from prompt_evaluator.cli.command_line import program, typed_command
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.options import several_conditions
from prompt_evaluator.cli.output import json_option, print_json, print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import columns
from prompt_evaluator.cli.trend_view import trend_lines
from prompt_evaluator.model.bounds import LISTED, METRIC_THRESHOLD
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.several import SEVERAL
from prompt_evaluator.model.trend import TrendQuery

if TYPE_CHECKING:
    from pathlib import Path

_NONE_YET = "No finished runs yet. Start one: {program} evaluate-dataset -d DATASET -s PROMPT"
_NO_SCORES = "The {runs} of this dataset have no scores."


@click.command("trends")
@click.option(
    "--dataset", metavar="DATASET", help="A name, a path, or the beginning of a hash.  [default: the newest run's]"
)
@click.option("--metric", metavar="NAME", help="Show one metric in full.  [default: all, in short]")
@click.option(
    "--judge", metavar="MODEL", help="Only runs with this judge: a model, or the beginning of the judge's hash."
)
@click.option("--model", metavar="MODEL", help="Only runs of this model.")
@click.option(
    "--where",
    multiple=True,
    callback=several_conditions,
    metavar="CONDITION",
    help=f"Only runs that match, as in `runs list`, such as tag.team=search or prompt~v2. {SEVERAL}",
)
@click.option(
    "--limit", type=number_type(LISTED), default=50, show_default=True, metavar="N", help="Use the newest N runs."
)
@click.option(
    "--metric-threshold",
    type=number_type(METRIC_THRESHOLD),
    default=0.1,
    show_default=True,
    metavar="X",
    help="Smallest change that matters, on a scale from 1 to 5; other scales use it in proportion.",
)
@json_option
@settings_options
def trends_command(  # noqa: PLR0913 - one for each flag
    *,
    dataset: str | None,
    metric: str | None,
    judge: str | None,
    model: str | None,
    where: tuple[str, ...] | None,
    limit: int,
    metric_threshold: float,
    as_json: bool,
    config_path: Path | None,
) -> None:
    """Show how a metric went over the runs of a dataset, and where it changed.

    Runs are comparable if they have the same version of the dataset and the same judge; the newest such series is
    shown. A change is reported if it is larger than the answers to the same cases vary; a single run that is far off
    is marked, and is not a change.
    """
    query = TrendQuery(
        dataset=dataset,
        metric=metric,
        judge=judge,
        model=model,
        where=tuple(map(condition, where or ())),
        limit=limit,
        metric_threshold=metric_threshold,
    )
    trends = read_trends(read_settings(config_path), query)
    typed = typed_command(click.get_current_context()).options
    options = tuple(part for option in typed if option[0] in {"--config", "--store"} for part in option)
    filters = [part for flag, value in (("--judge", judge), ("--model", model)) if value for part in (flag, value)]
    filters += [part for value in where or () for part in ("--where", value)]
    found = trend_findings(trends, program=program(), options=options, filters=tuple(filters)) if trends else None
    if as_json:
        print_json(trends_document(trends, found))
    elif trends is None or found is None:
        click.echo(_NONE_YET.format(program=shlex.join(program())))
    elif not trends.metrics:
        click.echo(_NO_SCORES.format(runs=f"{trends.runs} runs"))
    else:
        print_lines(trend_lines(trends, found, columns(sys.stdout)))
