"""`prompt-evaluator benchmark`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator.app.benchmarks import (
    benchmark_parts,
    datasets_folder,
    find_benchmarks,
    get_benchmarks,
    open_benchmark,
)
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.group_running import conclude_group, print_estimates, run_parts
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import option, options, several_words
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.model.several import SEVERAL
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from pathlib import Path


def _folder(config_path: Path | None) -> Path:
    return datasets_folder(read_settings(config_path))


@click.group("benchmark")
def benchmark_command() -> None:
    """Run models on benchmark datasets and score them by metrics."""


@benchmark_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@config_option
def list_command(*, as_json: bool, config_path: Path | None) -> None:
    """List benchmark datasets: the project's own, then the built-in ones."""
    found = find_benchmarks(_folder(config_path))
    if as_json:
        print_json({"benchmarks": msgspec.to_builtins(found, enc_hook=str)})
        return
    width = max((len(benchmark.name) for benchmark in found), default=0)
    for benchmark in found:
        state = click.style(f"error: {benchmark.error}", fg="red") if benchmark.error else many(benchmark.count, "task")
        click.echo(f"{benchmark.name:{width}}  {benchmark.origin:7}  {state}")


@benchmark_command.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@config_option
def show_command(name: str, *, as_json: bool, config_path: Path | None) -> None:
    """Show the tasks of a benchmark dataset."""
    dataset = open_benchmark(name, _folder(config_path))
    if as_json:
        print_json(
            {"name": dataset.name, "hash": dataset.hash, "path": str(dataset.path), "tasks": list(dataset.cases)}
        )
        return
    click.echo(f"{dataset.name}: {many(dataset.count, 'task')}, sha256 {dataset.hash}")
    if dataset.description:
        click.echo(dataset.description.strip())
    for case in dataset.cases:
        title = case.metadata.get("name") or case.description or ""
        level = case.metadata.get("difficulty")
        click.echo(f"  {case.id}  {title}{f'  ({level})' if level else ''}")


@benchmark_command.command("run", epilog=legend())
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    callback=several_words,
    required=True,
    help=f"Names of the benchmark datasets. {SEVERAL}",
)
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
@options("metrics_file", "reducers", "max_tokens", "seed", "params", "attempts")
@option("max_cases", help="Evaluate at most N matching tasks of each dataset.")
@option("where", help="Evaluate only tasks whose metadata matches.")
@options("fail_under", "fail_over", "output_dir", "reuse", "allow_mock_judge")
@click.option("--estimate", is_flag=True, help="Estimate calls, tokens, cost and time without making a call.")
@option("run_note", help="A sentence to remember the runs by.")
@config_option
@run_options
def run_command(  # noqa: PLR0913 - flags that decide what to run; the others are in `given`
    *,
    datasets: tuple[str, ...],
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
    command = RunCommand(flags, config_path, given)
    fixed = {"rubric": rubric, "metrics": metrics or _own_metrics(given), "command": command.typed()}
    wanted = evaluate_options(command.settings, given, **fixed)
    chosen = get_benchmarks(dict.fromkeys(datasets), datasets_folder(command.settings))
    parts = benchmark_parts(wanted, chosen, list(dict.fromkeys(models or (wanted.generator_model,))))
    if estimate:
        print_estimates(command, parts)
    else:
        sys.exit(conclude_group(command, run_parts(command, parts)))


def _own_metrics(given: dict[str, Any]) -> tuple[str, ...]:
    return () if given["metrics_file"] else ("correctness",)
