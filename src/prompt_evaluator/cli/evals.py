"""`prompt-evaluator evals`."""

from __future__ import annotations

import click

from prompt_evaluator.cli.lazy import LazyGroup

_COMMANDS = {
    "run": ("prompt_evaluator.cli.evals_run:run_command", "Run all tasks with every configuration."),
}


@click.group("evals", cls=LazyGroup, table=_COMMANDS)
def evals_command() -> None:
    """Run the release harness, and find out whether a release got worse."""
