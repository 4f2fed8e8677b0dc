"""`prompt-evaluator benchmark`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator.app.benchmarks import (
    datasets_folder,
    find_benchmarks,
    get_benchmark,
    open_benchmark,
    run_benchmarks,
)
from prompt_evaluator.app.documents import run_document
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import commas, option, options
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from prompt_evaluator.model.outcome import Outcome


def _folder(config_path: Path | None) -> Path:
    return datasets_folder(read_settings(config_path))


def _some(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """At least one, if the flag is given at all."""
    found = commas(context, parameter, value)
    if found == ():
        raise click.BadParameter("name at least one", param=parameter)
    return found


@click.group("benchmark")
def benchmark_command() -> None:
    """Run models on benchmark datasets and score them by metrics."""


@benchmark_command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@config_option
def list_command(*, as_json: bool, config_path: Path | None) -> None:
    """List the benchmark datasets: the project's own, then those that ship."""
    found = find_benchmarks(_folder(config_path))
    if as_json:
        print_json({"benchmarks": msgspec.to_builtins(found, enc_hook=str)})
        return
    width = max((len(benchmark.name) for benchmark in found), default=0)
    for benchmark in found:
        state = click.style(f"error: {benchmark.error}", fg="red") if benchmark.error else f"{benchmark.count:,} tasks"
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
    click.echo(f"{dataset.name}: {dataset.count:,} tasks, sha256 {dataset.hash}")
    if dataset.description:
        click.echo(dataset.description.strip())
    for case in dataset.cases:
        title = case.metadata.get("name") or case.description or ""
        level = case.metadata.get("difficulty")
        click.echo(f"  {case.id}  {title}{f'  ({level})' if level else ''}")


@benchmark_command.command("run", epilog=legend())
@click.option("--dataset", "datasets", callback=_some, required=True, help="One or more names, separated by commas.")
@click.option("--model", "models", callback=_some, help="One or more.  [default: mock/default]")
@option("metrics", help="Metrics to score by.", otherwise="correctness, unless there is a --metrics-file")
@option("judge_model", otherwise="the model itself")
@option("num_samples", default=1, help="Samples per task.")
@option("temperature", default=0.0)
@option("rubric", help="Judge by a rubric too: one that ships, a file, or a configured name.", otherwise="none")
@options("metrics_file", "reducers", "max_tokens", "seed", "params", "attempts")
@option("max_cases", help="Evaluate at most N matching tasks of each dataset.")
@option("where", help="Evaluate only tasks whose metadata fits.")
@options("fail_under", "fail_over", "output_dir", "reuse", "allow_mock_judge")
@option("run_note", help="A sentence to remember the runs by.")
@config_option
@run_options
def run_command(  # noqa: PLR0913 - what is run; the other flags say how
    *,
    datasets: tuple[str, ...],
    models: tuple[str, ...] | None,
    metrics: tuple[str, ...] | None,
    rubric: str | None,
    flags: RunFlags,
    config_path: Path | None,
    **given: Any,
) -> None:
    """Run models on benchmark datasets; several of each make a group of runs.

    Exits as evaluate-dataset does; of several runs, the worst decides.
    """
    if metrics and not any(text.strip(" ,") for text in metrics):
        raise click.BadParameter("name at least one", param_hint="--metrics")
    command = RunCommand(flags, config_path, given)
    fixed = {"rubric": rubric, "metrics": metrics or _own_metrics(given), "command": command.typed()}
    wanted = evaluate_options(command.settings, given, **fixed)
    folder = datasets_folder(command.settings)
    paths = [get_benchmark(name, folder).path for name in datasets]
    asked = models or (wanted.generator_model,)
    outcomes = command.wait_for(_all(run_benchmarks(wanted, command.session, datasets=paths, models=asked)))
    if flags.as_json:
        print_json({"runs": [run_document(outcome) for outcome in outcomes]})
    code = max(command.conclude(outcome) for outcome in outcomes)
    if left := [f"{name} with {model}" for name in datasets for model in asked][len(outcomes) :]:
        click.echo(f"Not begun, because the run before stopped: {', '.join(left)}. Start these again.", err=True)
    sys.exit(code)


def _own_metrics(given: dict[str, Any]) -> tuple[str, ...]:
    return () if given["metrics_file"] else ("correctness",)


async def _all(runs: AsyncIterator[Outcome]) -> list[Outcome]:
    return [outcome async for outcome in runs]
