"""`prompt-evaluator labels`."""

from __future__ import annotations

from pathlib import Path

import click

from prompt_evaluator.app.labels import ImportedLabels, export_labels, import_labels
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.output import write_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.wording import many


@click.group("labels")
def labels_command() -> None:
    """Import or export labels: scores that people gave to answers."""


@labels_command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--reviewer", metavar="NAME", help="Who gave the labels, for lines that do not say.")
@settings_options
def import_command(file: Path, *, reviewer: str | None, config_path: Path | None) -> None:
    """Add the labels of FILE (.jsonl or .csv) to the store.

    A line has run_id, test_case_id, sample_id (or sample, starting at 1), metric, value and reviewer. Every line is
    checked before any label is added. Labels already in the store are not added again.
    """
    click.echo(_summary(import_labels(read_settings(config_path), file, reviewer=reviewer)))


@labels_command.command("export")
@click.argument("run", required=False)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Output file.  [default: standard output]"
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "csv"]),
    help="Output format.  [default: from the file's extension, or jsonl]",
)
@settings_options
def export_command(run: str | None, *, output: Path | None, kind: str | None, config_path: Path | None) -> None:
    """Write the labels of RUN (an id, its beginning, @last or a tag), or of all runs, one per line.

    Scores that a reviewer has since changed are included. The file can be imported again.
    """
    by_name = "csv" if output and output.suffix.lower() == ".csv" else "jsonl"
    write_lines(export_labels(read_settings(config_path), run, kind or by_name), output)


def _summary(imported: ImportedLabels) -> str:
    old = imported.already_there
    verb = "was" if old == 1 else "were"
    if not imported.added:
        return f"Nothing to add: {many(old, 'label')} {verb} already in the store."
    added = f"Added {many(imported.added, 'label')}."
    return f"{added} {old:,} {verb} already in the store." if old else added
