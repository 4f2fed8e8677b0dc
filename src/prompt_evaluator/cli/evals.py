"""`prompt-evaluator evals`."""

from __future__ import annotations

import click

from prompt_evaluator.cli.lazy import LazyGroup

_COMMANDS = {
    "run": ("prompt_evaluator.cli.evals_run:run_command", "Run every task with every configuration."),
    "gate": ("prompt_evaluator.cli.evals_gate:gate_command", "Fail if the latest run is worse than its baseline."),
}


@click.group("evals", cls=LazyGroup, table=_COMMANDS)
def evals_command() -> None:
    """Run the release harness in a folder such as `evals/`, and gate a release by its results."""
