"""`prompt-evaluator rubric`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator.app.settings import find_rubric, list_rubrics, read_settings
from prompt_evaluator.cli.settings_options import config_option

if TYPE_CHECKING:
    from pathlib import Path


@click.group("rubric")
def rubric_command() -> None:
    """List rubrics, or show what a judge looks for."""


@rubric_command.command("list")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def rubric_list_command(config_path: Path | None, *, as_json: bool) -> None:
    """List the rubrics available by name: built-in ones and those in the configuration."""
    rubrics = list_rubrics(read_settings(config_path))
    if as_json:
        _print_json({"rubrics": rubrics})
        return
    width = max(len(rubric.name) for rubric in rubrics)
    for rubric in rubrics:
        click.echo(f"{click.style(rubric.name.ljust(width), bold=True)}  {rubric.path or 'built-in'}")
        flags = f"; flags: {', '.join(rubric.flags)}" if rubric.flags else ""
        click.echo(f"{'':{width}}  {', '.join(rubric.metrics)}{flags}")


@rubric_command.command("show")
@click.argument("name")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def rubric_show_command(name: str, config_path: Path | None, *, as_json: bool) -> None:
    """Show the rubric NAME (a name or a file): its metrics with scales and guidelines, and its flags."""
    rubric = find_rubric(read_settings(config_path), name)
    if as_json:
        _print_json(rubric)
        return
    click.echo(f"{click.style(rubric.name, bold=True)}: {rubric.path or 'built-in'}")
    click.echo(f"sha256 {rubric.hash}")
    for criterion in rubric.metrics:
        scale = f"{criterion.min_score:g} to {criterion.max_score:g}"
        click.echo(f"\n{click.style(criterion.name, bold=True)} ({scale})\n  {criterion.description}")
        for line in criterion.guidelines.splitlines():
            click.echo(f"    {line}")
    for flag in rubric.flags:
        click.echo(f"\n{click.style(flag.name, bold=True)} (yes or no)\n  {flag.description}")


def _print_json(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
