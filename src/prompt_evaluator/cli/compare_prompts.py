"""`prompt-evaluator compare-prompts`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.cli.compare_options import comparing, fail_on_regression_option, threshold_options
from prompt_evaluator.cli.evaluation_options import evaluation_options, take_models, with_quick
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.matrix import Matrix
from prompt_evaluator.cli.options import option, options, several_paths
from prompt_evaluator.cli.prompt_comparison import Comparing
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.several import REPEATED

if TYPE_CHECKING:
    from pathlib import Path


@click.command("compare-prompts", epilog=legend())
@option("dataset", required=True)
@click.option("--prompt-a", type=click.Path(), required=True, help="The baseline: a file, or a configured name.")
@click.option("--prompt-b", type=click.Path(), required=True, help="The prompt to compare with the baseline.")
@click.option(
    "--prompt",
    "more",
    type=click.Path(),
    multiple=True,
    callback=several_paths,
    help=f"Another prompt to compare with the baseline. {REPEATED}",
)
@threshold_options
@fail_on_regression_option
@evaluation_options
@click.option("--estimate", is_flag=True, help="Estimate calls, tokens, cost and time without making a call.")
@options("run_note", "tags")
@settings_options
@run_options
def compare_prompts_command(  # noqa: PLR0913 - flags that decide what to do; the others are in `given`
    *,
    flags: RunFlags,
    config_path: Path | None,
    prompt_a: str,
    prompt_b: str,
    more: tuple[str, ...] | None,
    fail_on_regression: bool,
    quick: bool,
    estimate: bool,
    **given: Any,
) -> None:
    """Evaluate prompts on the same cases, and say whether B (and others) is better than A.

    Each prompt is a run as evaluate-dataset makes it. The runs are one group, shown in one table; below it, each is
    compared with A as the compare command does. With several models, the prompts of each model are compared.

    Exit codes are those of evaluate-dataset, and 1 if something got worse and --fail-on-regression is given; the worst
    decides.
    """
    comparing_by = Comparing(comparing(given), fail_on_regression)
    with_quick(given, quick=quick)
    models = take_models(given)
    command = RunCommand(flags, config_path, given)
    wanted = evaluate_options(command.settings, given, command=command.typed())
    matrix = Matrix(command, wanted, (prompt_a, prompt_b, *(more or ())), models)
    if not matrix.has_several_prompts:
        raise click.UsageError(
            "All prompts are the same file, so there is nothing to compare. Give another --prompt-b."
        )
    sys.exit(matrix.estimate() if estimate else matrix.compare(comparing_by))
