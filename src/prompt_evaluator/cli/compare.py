"""`prompt-evaluator compare`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.compare import open_comparison
from prompt_evaluator.app.comparison_findings import SHOWN_CASES, ComparedRuns, is_regression
from prompt_evaluator.app.comparison_json import comparison_json
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.compare_options import ShowCommand, compare_options, comparing
from prompt_evaluator.cli.compare_output import print_comparisons
from prompt_evaluator.cli.legend import comparison_legend
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.output import json_option, write_lines
from prompt_evaluator.cli.pairwise_options import pairwise_given, pairwise_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.bounds import LISTED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.cli.pairwise import JudgedPairs
    from prompt_evaluator.model.comparison import Comparison

_REGRESSION = 1


@click.command("compare", cls=ShowCommand, epilog=comparison_legend())
@click.argument("runs", nargs=-1, metavar="A B [C]...")
@compare_options
@click.option(
    "--show",
    type=number_type(LISTED),
    metavar="[N]",
    help=f"Show N cases with the answers of both runs, the most certain drops first.  [default: N is {SHOWN_CASES}]",
)
@pairwise_options
@click.option("--fail-on-regression", is_flag=True, help="Exit with code 1 if a metric or a flag got worse.")
@json_option
@settings_options
def compare_command(
    runs: tuple[str, ...],
    *,
    show: int | None,
    fail_on_regression: bool,
    as_json: bool,
    config_path: Path | None,
    **options: Any,
) -> None:
    """Say whether run B (and C, …) is better than run A, and whether that can be believed.

    A run is an id or its beginning, @last, @last~1, a tag such as tag:branch=main, or a path to a
    dataset_evaluation.json, also one made elsewhere. Only cases that both runs have are compared.

    Exit codes: 0; 1 if something got worse and --fail-on-regression is given, also if a metric is missing in one run;
    2 if a run or an option cannot be used; 3 if the runs cannot be compared because their datasets, rubrics or judges
    differ (see --allow-different) or they have no case in common, or if --pairwise was stopped before its end.
    """
    if len(runs) < 2:  # noqa: PLR2004
        raise click.UsageError("Name two or more runs, the baseline first: prompt-evaluator compare A B.")
    if as_json and show is not None:
        raise click.UsageError("--show is for people and cannot be combined with --json.")
    given = pairwise_given(options)
    settings = read_settings(config_path)
    with open_comparison(settings, runs, comparing(options)) as opened:
        pairs = _judged(opened.comparisons, given, config_path, as_json=as_json) if given else None
        if as_json:
            write_lines(comparison_json(opened.comparisons, pairs.document if pairs else {}), None)
        else:
            below = pairs.lines() if pairs else ()
            print_comparisons(opened, ComparedRuns(settings, runs), show=show, below=below)
        code = pairs.conclude() if pairs else 0
        worse = (pairs is not None and pairs.is_worse) or any(map(is_regression, opened.comparisons))
        sys.exit(code or (_REGRESSION if fail_on_regression and worse else 0))


def _judged(
    comparisons: Sequence[Comparison], given: dict[str, Any], config_path: Path | None, *, as_json: bool
) -> JudgedPairs:
    from prompt_evaluator.cli.pairwise import run_pairwise  # noqa: PLC0415 - makes calls, which comparing does not need

    return run_pairwise(comparisons, given, config_path, as_json=as_json)
