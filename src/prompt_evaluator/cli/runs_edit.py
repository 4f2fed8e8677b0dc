"""`prompt-evaluator runs edit`, `pin`, `unpin` and `baselines`."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from prompt_evaluator.app.baselines import list_baselines, pin_baseline, unpin_baseline
from prompt_evaluator.app.run_edits import edit_run
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.grid import Cell, Column, GridRow, grid
from prompt_evaluator.cli.options import several_tags, several_words
from prompt_evaluator.cli.output import json_option, print_json, print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import clean, columns
from prompt_evaluator.model.several import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.model.release import Baseline

_MINUTES = 16
"""Characters of a time up to its minutes."""


@click.command("edit")
@click.argument("run")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    callback=several_tags,
    metavar="KEY=VALUE",
    help=f"Set a tag; KEY alone means KEY=true. {SEVERAL}",
)
@click.option(
    "--remove-tag", "removed", multiple=True, callback=several_words, metavar="KEY", help=f"Remove a tag. {SEVERAL}"
)
@click.option("--note", metavar="TEXT", help='Replace the note; "" removes it.')
@settings_options
def edit_command(
    run: str,
    *,
    tags: dict[str, str] | None,
    removed: tuple[str, ...] | None,
    note: str | None,
    config_path: Path | None,
) -> None:
    """Change tags and note of RUN (an id, its beginning, @last or a tag), also while it is in progress.

    They are changed in the store, in `dataset_evaluation.json` and in `index.json`; those of a run in progress get them
    when it ends.
    """
    if tags is None and removed is None and note is None:
        raise click.UsageError("There is nothing to change. Add --tag KEY=VALUE, --remove-tag KEY or --note TEXT.")
    if both := sorted((tags or {}).keys() & set(removed or ())):
        raise click.UsageError(f"--tag and --remove-tag both name {both[0]!r}. Keep one of them.")
    changes: dict[str, str | None] = {**(tags or {}), **dict.fromkeys(removed or ())}
    line = edit_run(read_settings(config_path), run, tags=changes, note=UNSET if note is None else note or None)
    shown = ", ".join(f"{key}={value}" for key, value in line.tags.items()) or "none"
    click.echo(clean(f"{line.run_id}: tags {shown}; note {line.note or 'none'}"))


@click.command("pin")
@click.argument("run")
@click.argument("name", required=False)
@settings_options
def pin_command(run: str, name: str | None, *, config_path: Path | None) -> None:
    """Pin RUN as the baseline NAME, by default the name of its dataset.

    `gate` then compares runs of the dataset with it, if it has the dataset's name. Wherever a run is named, NAME means
    this run, such as in `compare NAME @last`.
    A pinned run cannot be deleted. A run that was pinned under NAME before no longer is.
    """
    baseline = pin_baseline(read_settings(config_path), run, name)
    click.echo(clean(f"Pinned run {baseline.run_id} as the baseline {baseline.name}."))


@click.command("unpin")
@click.argument("name")
@settings_options
def unpin_command(name: str, *, config_path: Path | None) -> None:
    """Remove the baseline NAME. Its run stays."""
    unpin_baseline(read_settings(config_path), name)
    click.echo(clean(f"{name} is no longer a baseline."))


@click.command("baselines")
@json_option
@settings_options
def baselines_command(*, as_json: bool, config_path: Path | None) -> None:
    """List the baselines: runs that are pinned under a name."""
    found = list_baselines(read_settings(config_path))
    if as_json:
        print_json({"baselines": found})
    elif found:
        print_lines(_table(found, columns(sys.stdout) - 1))
    else:
        click.echo(f"No baselines yet. Pin a run: {shlex.join(program())} runs pin RUN NAME")


def _table(baselines: Sequence[Baseline], width: int) -> list[str]:
    rows = [
        GridRow(each.name, (Cell(each.run_id), Cell(each.pinned_at[:_MINUTES].replace("T", " ")))) for each in baselines
    ]
    return grid([Column("Run"), Column("Pinned (UTC)")], rows, width)
