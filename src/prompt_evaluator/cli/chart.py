"""`prompt-evaluator chart`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from prompt_evaluator.app.charts import (
    COMPARE_KINDS,
    HISTORY_KINDS,
    RUN_KINDS,
    ChartRequest,
    check_file,
    read_chart,
    write_chart,
)
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.options import several_words
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import clean, columns, wrap
from prompt_evaluator.model.bounds import CHART_SIZE
from prompt_evaluator.model.chart import ChartSize, Theme
from prompt_evaluator.model.several import SEVERAL

if TYPE_CHECKING:
    from prompt_evaluator.model.chart import ChartKind

_KINDS = (*RUN_KINDS, *COMPARE_KINDS, *HISTORY_KINDS)


@click.command("chart")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--kind", type=click.Choice(_KINDS), required=True, help="What to show; see above.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="A .png or .svg file, or .json for the Vega-Lite specification.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    callback=several_words,
    metavar="NAME",
    help=f"Only these metrics; scatter, trend and cost take one. {SEVERAL}  [default: all, or the first one]",
)
@click.option(
    "--theme", type=click.Choice(get_args(Theme)), default="light", show_default=True, help="Colours of the page."
)
@click.option(
    "--width", type=number_type(CHART_SIZE), metavar="PIXELS", help="Of the plotting area; of a PNG, twice that."
)
@click.option(
    "--height",
    type=number_type(CHART_SIZE),
    metavar="PIXELS",
    help="The same; of a chart with several panels, of each.",
)
@click.option(
    "--allow-different",
    is_flag=True,
    help="For differences and scatter: also of runs with different datasets or judges.",
)
@settings_options
def chart_command(  # noqa: PLR0913 - one for each flag
    runs: tuple[str, ...],
    *,
    kind: ChartKind,
    output: Path,
    metrics: tuple[str, ...] | None,
    theme: Theme,
    width: int | None,
    height: int | None,
    allow_different: bool,
    config_path: Path | None,
) -> None:
    """Draw a chart of runs as a picture, and say what it shows.

    \b
    metrics       means with intervals; several runs side by side
    stability     which cases vary between samples, of one run
    distribution  histograms of scores; several runs side by side
    flags         how often flags were raised; several runs side by side
    slices        groups of cases against the rest, of one run
    differences   two runs: paired differences, and whether they matter
    scatter       two runs: each case's score in both
    trend         one run: a metric over the runs of its dataset
    cost          cost against quality, of several runs or those of one run's dataset

    A run is an id or its beginning, @last, @last~1, or a tag such as tag:branch=main.

    \b
    Pictures need the extra `charts`:
    pip install 'prompt-verdict[charts]'
    """  # noqa: D301 - click's mark for text that keeps its lines
    check_file(output)
    size = ChartSize(width=width, height=height)
    request = ChartRequest(kind=kind, metrics=metrics or (), size=size, allow_different=allow_different)
    chart = read_chart(read_settings(config_path), runs, request)
    write_chart(chart, output, theme)
    said = clean(chart.alternative)
    print_lines([clean(str(output)), *(wrap(said, columns(sys.stdout)) if sys.stdout.isatty() else [said])])
