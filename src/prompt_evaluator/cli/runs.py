"""`prompt-evaluator runs`."""

from __future__ import annotations

import click

from prompt_evaluator.cli.lazy import LazyGroup

_COMMANDS = {
    "list": ("prompt_evaluator.cli.runs_list:list_command", "List runs, the newest first."),
    "show": ("prompt_evaluator.cli.runs_show:show_command", "Show the summary of a run, some of its cases, or one."),
    "watch": ("prompt_evaluator.cli.runs_watch:watch_command", "Follow a run of another process."),
    "export": ("prompt_evaluator.cli.runs_upkeep:export_command", "Write the samples of a run, one a line."),
    "rebuild": ("prompt_evaluator.cli.runs_upkeep:rebuild_command", "Write artifacts again from the store."),
    "delete": ("prompt_evaluator.cli.runs_upkeep:delete_command", "Delete a run and its files."),
}


@click.group("runs", cls=LazyGroup, table=_COMMANDS)
def runs_command() -> None:
    """List, show, watch, export, rebuild or delete runs."""
