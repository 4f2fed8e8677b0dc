"""`prompt-evaluator benchmark`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

from prompt_evaluator.app.benchmarks import benchmark_parts, find_dataset
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.suites import find_suite, suite_parts, with_suite
from prompt_evaluator.cli.group_running import conclude_group, print_estimates, run_parts
from prompt_evaluator.cli.lazy import LazyGroup
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import option, options, several_words
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.several import SEVERAL

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.suite import Suite


_COMMANDS = {"run": ("prompt_evaluator.cli.benchmark:run_command", "Run models on benchmark datasets.")}


@click.group("benchmark", cls=LazyGroup, table=_COMMANDS)
def benchmark_command() -> None:
    """Run models on benchmark datasets and score them by metrics."""


@click.command("run", epilog=legend())
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    callback=several_words,
    help=f"Names of the benchmark datasets. {SEVERAL}",
)
@click.option("--suite", help="Datasets, models and metrics that the configuration has under this name.")
@click.option(
    "--model",
    "models",
    multiple=True,
    callback=several_words,
    help=f"Models under test, as PROVIDER/MODEL. {SEVERAL}  [default: mock/default]",
)
@option("metrics", help="Metrics to score by.", otherwise="correctness, unless --metrics-file is given")
@option("judge_model", otherwise="the model itself")
@option("num_samples", default=1, help="Samples per task.")
@option("temperature", default=0.0)
@option("rubric", help="Also judge by a rubric: a built-in one, a file, or a configured name.", otherwise="none")
@options("metrics_file", "reducers", "max_tokens", "effort", "seed", "params", "strict_params")
@option("max_cases", help="Evaluate at most N matching tasks of each dataset.")
@option("where", help="Evaluate only tasks whose metadata matches.")
@options("fail_under", "fail_over", "output_dir", "reuse", "allow_mock_judge")
@click.option("--estimate", is_flag=True, help="Estimate calls, tokens, cost and time without making a call.")
@option("run_note", help="A sentence to remember the runs by.")
@settings_options
@run_options
def run_command(  # noqa: PLR0913 - flags that decide what to run; the others are in `given`
    *,
    datasets: tuple[str, ...] | None,
    suite: str | None,
    models: tuple[str, ...] | None,
    metrics: tuple[str, ...] | None,
    rubric: str | None,
    estimate: bool,
    flags: RunFlags,
    config_path: Path | None,
    **given: Any,
) -> None:
    """Run models on benchmark datasets. Several models or datasets make a group of runs, shown in one table.

    If a run fails, the others still run. Exit codes are those of evaluate-dataset; the worst run decides.
    """
    given |= {"metrics": metrics, "rubric": rubric}
    chosen = _chosen_suite(suite, datasets, config_path)
    if chosen:
        given = with_suite(chosen, given | _typed_samples(given))
    given["num_samples"] = given["num_samples"] or 1
    fixed = {"rubric": given.pop("rubric"), "metrics": given.pop("metrics") or _own_metrics(given, chosen)}
    command = RunCommand(flags, config_path, given)
    wanted = evaluate_options(command.settings, given, **fixed, command=command.typed())
    context = click.get_current_context()
    by_default = {name for name in wanted.stated if context.get_parameter_source(name) is ParameterSource.DEFAULT}
    wanted = msgspec.structs.replace(wanted, stated=wanted.stated - by_default)
    if chosen:
        parts = suite_parts(command.settings, chosen, wanted, models or ())
    else:
        found = [find_dataset(command.settings, name) for name in dict.fromkeys(datasets or ())]
        parts = benchmark_parts(wanted, found, list(dict.fromkeys(models or (wanted.generator_model,))))
    if estimate:
        print_estimates(command, parts)
    else:
        sys.exit(conclude_group(command, run_parts(command, parts)))


def _chosen_suite(name: str | None, datasets: tuple[str, ...] | None, config_path: Path | None) -> Suite | None:
    """Return the suite, if one was named; either a suite or datasets have to be."""
    if name and datasets:
        raise click.UsageError("--suite and --dataset cannot be combined: a suite has its own datasets.")
    if not name and not datasets:
        raise click.UsageError("Name datasets with --dataset, or a suite with --suite.")
    return find_suite(read_settings(config_path), name) if name else None


def _typed_samples(given: dict[str, Any]) -> dict[str, Any]:
    """The samples only if somebody typed them: the default gives way to the suite."""
    source = click.get_current_context().get_parameter_source("num_samples")
    return {"num_samples": given["num_samples"] if source is ParameterSource.COMMANDLINE else None}


def _own_metrics(given: dict[str, Any], suite: Suite | None) -> tuple[str, ...]:
    return () if given["metrics_file"] or suite else ("correctness",)
