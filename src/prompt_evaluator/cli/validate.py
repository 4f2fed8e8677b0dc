"""`prompt-evaluator validate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.validate import survey_as_json, validate
from prompt_evaluator.cli.output import json_option, print_json
from prompt_evaluator.cli.text import columns, hang, wrap
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from prompt_evaluator.app.validate import Survey

_SHOWN = 50
_BAD_INPUT = 2
_INDENT = 2


@click.command("validate")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def validate_command(paths: tuple[Path, ...], *, as_json: bool) -> None:
    """Check dataset files: show what they contain, and every problem with its location and how to fix it.

    Reads .jsonl, .yaml and .yml, and .json task lists of the release harness. Calls no models.
    Exits 0 if every file can be used, 2 otherwise.
    """
    surveys = []
    for found in validate(paths):
        surveys.append(found)
        if not as_json:
            _print(found)
    ok = all(found.ok for found in surveys)
    if as_json:
        print_json({"ok": ok, "files": [survey_as_json(found) for found in surveys]})
    elif len(surveys) > 1:
        good = sum(found.ok for found in surveys)
        click.echo(f"{good} of {len(surveys)} files can be used.")
    if not ok:
        sys.exit(_BAD_INPUT)


def _print(found: Survey) -> None:
    mark = click.style("ok", fg="green") if found.ok else click.style("problems", fg="red")
    click.echo(f"{click.style(str(found.path), bold=True)}: {mark}")
    if found.hash:
        dialect = f"{found.dialect} dialect, " if found.dialect else ""
        click.echo(f"  {dialect}{many(found.count, 'case')}\n  sha256 {found.hash}")
    if found.fields:
        lines = wrap(f"fields: {_fields(found)}", columns(sys.stdout) - _INDENT - 1)
        click.echo("\n".join(hang("", lines, _INDENT)))
    for problem in found.problems[:_SHOWN]:
        click.echo(f"  - {problem}")
    if (hidden := found.problem_count - _SHOWN) > 0:
        click.echo(f"  - and {hidden:,} more; --json lists up to 1,000")
    click.echo()


def _fields(found: Survey) -> str:
    """Field names with counts; names with unprintable characters are shown escaped."""
    names = list(found.fields.items())
    shown = [f"{name if name.isprintable() else repr(name)} {count:,}" for name, count in names[:_SHOWN]]
    return ", ".join(shown) + (f", and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
