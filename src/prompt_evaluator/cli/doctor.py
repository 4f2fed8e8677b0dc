"""`prompt-evaluator doctor`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.doctor import diagnose
from prompt_evaluator.cli.output import json_option, print_json
from prompt_evaluator.cli.settings_options import settings_options

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.app.doctor import Symptom

_PROBLEMS = 2
_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "problem": ("problem", "red")}


@click.command("doctor")
@settings_options
@json_option
def doctor_command(config_path: Path | None, *, as_json: bool) -> None:
    """Check versions, configuration, keys, store and output folder, and say how to fix each problem.

    Makes no calls and shows no keys. Exits 0 if runs can work, 2 otherwise.
    """
    found = diagnose(config_path)
    if as_json:
        print_json(found)
    else:
        packages = found.versions | {
            name: version or "not installed (optional)" for name, version in found.extras.items()
        }
        width = max(map(len, packages)) + 2
        for name, version in packages.items():
            click.echo(f"{name:{width}}{version}")
        click.echo()
        for finding in found.findings:
            _print(finding)
    if not found.ok:
        sys.exit(_PROBLEMS)


def _print(finding: Symptom) -> None:
    mark, colour = _MARKS[finding.state]
    click.echo(f"{click.style(mark.ljust(9), fg=colour)}{finding.topic}: {finding.text}")
    if finding.advice:
        click.echo(f"{'':9}{finding.advice}")
