"""`prompt-evaluator runs export`, `rebuild` and `delete`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.export import export_run
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.training_export import export_training
from prompt_evaluator.app.upkeep import delete_run, rebuild_runs
from prompt_evaluator.cli.output import write_lines
from prompt_evaluator.cli.settings_options import settings_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@click.command("export")
@click.argument("run")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "csv", "json"]),
    help="jsonl and csv have a sample on each line; json is one document with the run and all its samples.  "
    "[default: jsonl]",
)
@click.option(
    "--training", is_flag=True, help="Write the best and the worst answer of each case as a preference pair instead."
)
@click.option(
    "--metric",
    metavar="NAME",
    help="With --training: rank by this metric.  [default: the mean of all, each from 0 to 1]",
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Output file.  [default: standard output]"
)
@settings_options
def export_command(  # noqa: PLR0913 - one for each flag
    run: str, *, kind: str | None, training: bool, metric: str | None, output: Path | None, config_path: Path | None
) -> None:
    """Write the samples of RUN, or preference pairs to train a model with.

    A preference pair is one line of JSON: the prompt as sent, the best answer of a case as `chosen`, the worst as
    `rejected`, and their scores. Answers with errors or missing scores are never used; equal answers or scores give no
    pair.
    """
    if metric is not None and not training:
        raise click.UsageError("--metric says what to rank answers by. Add --training, or remove it.")
    if training and kind is not None:
        raise click.UsageError("--training writes JSON lines. Remove --format.")
    settings = read_settings(config_path)
    if training:
        write_lines(_or_say_why(export_training(settings, run, metric)), output)
    else:
        write_lines(export_run(settings, run, kind or "jsonl"), output)


def _or_say_why(pairs: Iterable[bytes]) -> Iterator[bytes]:
    empty = True
    for pair in pairs:
        empty = False
        yield pair
    if empty:
        click.echo("No pairs: no case has two answers with different scores. Use more samples per case.", err=True)


@click.command("rebuild")
@click.argument("run", required=False)
@settings_options
def rebuild_command(run: str | None, *, config_path: Path | None) -> None:
    """Rebuild the artifacts of RUN, or of all runs, and the index from the store."""
    for record in rebuild_runs(read_settings(config_path), run):
        click.echo(f"{record.plan.run_id}: {record.status}")


@click.command("delete")
@click.argument("run")
@click.option("--with-labels", is_flag=True, help="Delete the labels of its answers too.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@settings_options
def delete_command(run: str, *, with_labels: bool, yes: bool, config_path: Path | None) -> None:
    """Delete RUN and its files. The answers and judgements it paid for are lost.

    A run with labelled answers is not deleted without --with-labels.
    """
    if not yes:
        parts = "its samples, its labels and its files" if with_labels else "its samples and its files"
        click.confirm(f"Delete run {run}, {parts}?", abort=True)
    click.echo(f"Deleted {delete_run(read_settings(config_path), run, with_labels=with_labels).plan.run_id}.")
