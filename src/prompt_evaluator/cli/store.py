"""`prompt-evaluator store`."""

from __future__ import annotations

import click

from prompt_evaluator.cli.lazy import LazyGroup

_COMMANDS = {
    "check": ("prompt_evaluator.cli.store_check:check_command", "Look for problems in a store."),
    "copy": ("prompt_evaluator.cli.store_copy:copy_command", "Copy runs from one store to another."),
    "migrate": ("prompt_evaluator.cli.store_migrate:migrate_command", "Bring a store to this version."),
}


@click.group("store", cls=LazyGroup, table=_COMMANDS)
def store_command() -> None:
    """Check, copy or migrate a store."""
