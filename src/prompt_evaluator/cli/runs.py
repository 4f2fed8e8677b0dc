"""`prompt-evaluator runs`."""

from __future__ import annotations

from pathlib import Path

import click

from prompt_evaluator.app.documents import run_document
from prompt_evaluator.app.run_records import RunLine, delete_run, export_run, list_runs, rebuild_runs, show_run
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.output import write_lines
from prompt_evaluator.cli.running import print_json
from prompt_evaluator.cli.summary import print_summary

_SHORT = 8


@click.group("runs")
def runs_command() -> None:
    """List, show, export, rebuild or delete runs."""


@runs_command.command("list")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="The newest so many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@config_option
def list_command(*, limit: int, as_json: bool, config_path: Path | None) -> None:
    """List runs, the newest first."""
    lines = list_runs(read_settings(config_path), limit)
    if as_json:
        print_json({"runs": lines})
        return
    if not lines:
        click.echo("No runs yet. Start one: prompt-evaluator evaluate-dataset -d DATASET -s PROMPT")
    for line in lines:
        click.echo(_line(line))


@runs_command.command("show")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@config_option
def show_command(run: str, *, as_json: bool, config_path: Path | None) -> None:
    """Show the summary of RUN (an id, or the start of one)."""
    outcome = show_run(read_settings(config_path), run)
    if as_json:
        print_json(run_document(outcome))
    else:
        print_summary(outcome)


@runs_command.command("delete")
@click.argument("run")
@click.option("--with-labels", is_flag=True, help="Delete the labels of its answers too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@config_option
def delete_command(run: str, *, with_labels: bool, yes: bool, config_path: Path | None) -> None:
    """Delete RUN and its files. What it paid for is gone then.

    A run whose answers people have labelled is kept, unless you say --with-labels.
    """
    if not yes:
        parts = "its samples, its labels and its files" if with_labels else "its samples and its files"
        click.confirm(f"Delete run {run}, {parts}?", abort=True)
    click.echo(f"Deleted {delete_run(read_settings(config_path), run, with_labels=with_labels).plan.run_id}.")


@runs_command.command("export")
@click.argument("run")
@click.option("--format", "kind", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="A file.  [default: standard output]"
)
@config_option
def export_command(run: str, *, kind: str, output: Path | None, config_path: Path | None) -> None:
    """Write the samples of RUN, one a line."""
    write_lines(export_run(read_settings(config_path), run, kind), output)


@runs_command.command("rebuild")
@click.argument("run", required=False)
@config_option
def rebuild_command(run: str | None, *, config_path: Path | None) -> None:
    """Write the artifacts of RUN, or of all runs, and the index again from the store."""
    for record in rebuild_runs(read_settings(config_path), run):
        click.echo(f"{record.plan.run_id}: {record.status}")


def _line(line: RunLine) -> str:
    dataset = Path(line.dataset).name if line.dataset else "given cases"
    note = f"  {line.note}" if line.note else ""
    tag = "  synthetic" if line.synthetic else ""
    size = f"{line.cases}×{line.samples}"
    when = line.started_at[:19].replace("T", " ")
    return f"{line.run_id[:_SHORT]}  {when}  {line.status:11}  {size:>9}  {line.generator}  {dataset}{tag}{note}"
