"""`prompt-evaluator config`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator.app.settings import read_settings, settings_schema, show_settings
from prompt_evaluator.cli.output import json_option, print_json
from prompt_evaluator.cli.settings_options import config_option
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.app.settings import ShownName, ShownProvider
    from prompt_evaluator.model.suite import Suite


@click.group("config")
def config_command() -> None:
    """Show the settings and where each is set."""


@config_command.command("show")
@config_option
@json_option
def config_show_command(config_path: Path | None, *, as_json: bool) -> None:
    """Print each value and where it is set: a variable, a line of the file, or built in. Keys are never shown."""
    settings = show_settings(read_settings(config_path))
    if as_json:
        print_json(settings)
        return
    click.echo(f"Configuration: {settings.config or 'no file'}")
    for path in settings.dotenv:
        click.echo(f"Variables:     {path}")
    click.echo()
    _print_rows((setting.name, _value(setting.value), setting.origin) for setting in settings.settings)
    for title in ("prompt_templates", "dataset_paths", "rubrics"):
        names: tuple[ShownName, ...] = getattr(settings, title)
        if names:
            click.echo(f"\n{title}")
            _print_rows((f"  {name.name}", _path(name), name.origin) for name in names)
    if settings.suites:
        click.echo("\nsuites")
        _print_rows((f"  {suite.name}", _suite(suite), suite.origin) for suite in settings.suites)
    click.echo("\nproviders")
    _print_rows((f"  {provider.name}", _provider(provider), provider.origin) for provider in settings.providers)


@config_command.command("path")
@config_option
def config_path_command(config_path: Path | None) -> None:
    """Print the path of the configuration file; exit 1 if there is none."""
    path = read_settings(config_path).path
    if path is None:
        click.echo("There is no prompt_evaluator.yaml in this folder or its parents.", err=True)
        sys.exit(1)
    click.echo(str(path))


@config_command.command("schema")
def config_schema_command() -> None:
    """Print the JSON Schema of the configuration file, for editors that complete and check it."""
    print_json(settings_schema())


def _print_rows(rows: Iterable[tuple[str, str, str]]) -> None:
    table = list(rows)
    widths = [max(len(row[column]) for row in table) for column in (0, 1)]
    for name, value, origin in table:
        shown_origin = click.style(origin, dim=origin == "built-in")
        click.echo(f"{click.style(name.ljust(widths[0]), bold=True)}  {value.ljust(widths[1])}  {shown_origin}")


def _value(value: Any) -> str:
    if value is None:
        return "-"
    return _short(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _path(name: ShownName) -> str:
    return _short(name.path) if name.found else f"{_short(name.path)} (not found)"


def _short(text: str) -> str:
    """A path, relative to the working directory if below it."""
    return text.removeprefix(f"{Path.cwd()}/") or "."


def _suite(suite: Suite) -> str:
    return f"{many(len(suite.datasets), 'dataset')}, {many(len(suite.models), 'model')}"


def _provider(provider: ShownProvider) -> str:
    proxy = f", proxy {provider.proxy}" if provider.proxy else ""
    if provider.key_present is None:
        return f"no key needed{proxy}"
    return f"{provider.key} {'present' if provider.key_present else 'missing'}{proxy}"
