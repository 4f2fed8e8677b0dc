"""`prompt-evaluator runs export`, `rebuild` and `delete`."""

from __future__ import annotations

from pathlib import Path

import click

from prompt_evaluator.app.export import export_run
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.upkeep import delete_run, rebuild_runs
from prompt_evaluator.cli.output import write_lines
from prompt_evaluator.cli.settings_options import settings_options


@click.command("export")
@click.argument("run")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "csv", "json"]),
    default="jsonl",
    show_default=True,
    help="jsonl and csv have a sample on each line; json is one document with the run and all its samples.",
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Output file.  [default: standard output]"
)
@settings_options
def export_command(run: str, *, kind: str, output: Path | None, config_path: Path | None) -> None:
    """Write the samples of RUN."""
    write_lines(export_run(read_settings(config_path), run, kind), output)


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
