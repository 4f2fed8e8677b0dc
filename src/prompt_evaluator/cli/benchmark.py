"""`prompt-evaluator benchmark`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator.app.benchmarks import find_benchmarks, get_benchmark, open_benchmark, run_benchmarks
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.evaluate_dataset import commas, evaluate_options
from prompt_evaluator.cli.running import RunCommand, RunFlags, outcome_as_json, print_json, run_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from prompt_evaluator.app.outcomes import Outcome


def _folder(config_path: Path | None) -> Path:
    return Path(read_settings(config_path).value("benchmark.datasets_dir"))


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


@benchmark_command.command("run")
@click.option("--dataset", "datasets", callback=_some, required=True, help="One or more names, separated by commas.")
@click.option("--model", "models", callback=_some, help="One or more.  [default: mock/default]")
@click.option("--metrics", callback=_some, default="correctness", show_default=True, help="One or more.")
@click.option("--judge-model", help="For metrics that need one.  [default: the model itself]")
@click.option("--num-samples", "-n", type=click.IntRange(1), default=1, show_default=True, help="Per task.")
@click.option("--reducers", callback=commas, help="Such as pass@3, pass^3, majority, best-of or 2-of-3.")
@click.option("--temperature", "-t", type=click.FloatRange(0), default=0.0, show_default=True, help="Of the model.")
@click.option("--rubric", help="Judge by a rubric too: one that ships, a file, or a configured name.")
@click.option("--max-tokens", type=click.IntRange(1), help="Of each answer.")
@click.option("--seed", type=int, help="Sample k uses seed + k.")
@click.option("--max-cases", type=click.IntRange(1), help="Only the first so many tasks of each dataset.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only tasks whose metadata fits. May be repeated.")
@click.option("--output-dir", "-o", type=click.Path(path_type=Path), help="Where results go.  [default: runs]")
@click.option("--reuse", is_flag=True, help="Take over what earlier runs asked and got in the very same way.")
@click.option("--allow-mock-judge", is_flag=True, help="Let the mock judge a real model's answers.")
@click.option("--run-note", help="A sentence to remember the runs by.")
@config_option
@run_options
def run_command(  # noqa: PLR0913 - what is run; the other flags say how
    *,
    datasets: tuple[str, ...],
    models: tuple[str, ...] | None,
    metrics: tuple[str, ...],
    rubric: str | None,
    flags: RunFlags,
    config_path: Path | None,
    **given: Any,
) -> None:
    """Run models on benchmark datasets; several of each make a group of runs.

    Exits as evaluate-dataset does; of several runs, the worst decides.
    """
    command = RunCommand(flags, config_path, given)
    options = evaluate_options(command.settings, given, rubric=rubric, metrics=metrics)
    folder = Path(command.settings.value("benchmark.datasets_dir"))
    paths = [get_benchmark(name, folder).path for name in datasets]
    asked = models or (options.generator_model,)
    outcomes = command.wait_for(_all(run_benchmarks(options, command.session, datasets=paths, models=asked)))
    if flags.as_json:
        print_json({"runs": [outcome_as_json(outcome) for outcome in outcomes]})
    sys.exit(max(command.conclude(outcome) for outcome in outcomes))


async def _all(runs: AsyncIterator[Outcome]) -> list[Outcome]:
    return [outcome async for outcome in runs]
