"""`prompt-evaluator compare-runs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from prompt_evaluator.app.compare import open_comparison
from prompt_evaluator.app.comparison_findings import ComparedRuns, is_regression
from prompt_evaluator.app.comparison_json import comparison_json
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.compare import REGRESSION
from prompt_evaluator.cli.compare_options import compare_options, comparing
from prompt_evaluator.cli.compare_output import print_comparisons
from prompt_evaluator.cli.legend import comparison_legend
from prompt_evaluator.cli.output import write_lines
from prompt_evaluator.cli.settings_options import store_option


@click.command("compare-runs", epilog=comparison_legend())
@click.option("--baseline", "-b", required=True, metavar="A", help="The run to compare with.")
@click.option("--candidate", "-c", required=True, metavar="B", help="The run that may be better or worse.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the comparison to this file as JSON.",
)
@compare_options
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="The configuration file.  [default: prompt_evaluator.yaml in this folder or a parent]",
)
@store_option
def compare_runs_command(
    baseline: str, candidate: str, output: Path | None, *, config_path: Path | None, **options: Any
) -> None:
    """Compare two runs for a script: exit with code 1 if something got worse.

    The same as `compare A B --fail-on-regression`, which says how to name runs; --output keeps the comparison.

    Exit codes: 0; 1 if a metric or a flag got worse, or a metric is missing in one run; 2 if a run or an option cannot
    be used; 3 if the runs cannot be compared.
    """
    settings = read_settings(config_path)
    names = (baseline, candidate)
    with open_comparison(settings, names, comparing(options)) as opened:
        if output is not None:
            write_lines(comparison_json(opened.comparisons), output)
        print_comparisons(opened, ComparedRuns(settings, names))
        if any(map(is_regression, opened.comparisons)):
            sys.exit(REGRESSION)
