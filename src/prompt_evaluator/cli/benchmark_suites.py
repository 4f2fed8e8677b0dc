"""`prompt-evaluator benchmark suites`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.suites import list_suites, metric_text
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.cli.settings_options import config_option
from prompt_evaluator.cli.text import clean, columns, flow, hang
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.app.suites import ListedSuite

_LABELS = 10
"""Columns of the labels below a suite's name."""


@click.command("suites")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@config_option
def suites_command(*, as_json: bool, config_path: Path | None) -> None:
    """List the suites of the configuration: named sets of datasets, models and metrics."""
    found = list_suites(read_settings(config_path))
    if as_json:
        print_json({"suites": found})
        return
    if not found:
        click.echo("There are no suites. Write them under `suites:` in prompt_evaluator.yaml.", err=True)
    for position, suite in enumerate(found):
        if position:
            click.echo()
        for line in _lines(suite, columns(sys.stdout)):
            click.echo(line)


def _lines(suite: ListedSuite, width: int) -> Iterator[str]:
    runs = many(len(suite.datasets) * len(suite.models), "run")
    title = f": {clean(suite.title)}" if suite.title else ""
    yield f"{click.style(clean(suite.name), bold=True)}{title} ({runs})"
    for label, parts in _facts(suite).items():
        yield from hang(f"  {label}", flow(map(clean, parts), width - _LABELS - 2, ", "), _LABELS + 2)
    if suite.error:
        yield click.style(f"  error: {clean(suite.error)}", fg="red")


def _facts(suite: ListedSuite) -> dict[str, tuple[str, ...]]:
    facts = {
        "datasets": suite.datasets,
        "models": suite.models,
        "metrics": tuple(map(metric_text, suite.metrics)),
        "judge": (suite.judge,) if suite.judge else (),
        "rubric": (suite.rubric,) if suite.rubric else (),
        "samples": (str(suite.samples),) if suite.samples else (),
    }
    return {label: parts for label, parts in facts.items() if parts}
