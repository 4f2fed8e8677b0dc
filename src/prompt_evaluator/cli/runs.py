"""`prompt-evaluator runs`."""

from __future__ import annotations

import click

from prompt_evaluator.cli.lazy import LazyGroup

_COMMANDS = {
    "list": ("prompt_evaluator.cli.runs_list:list_command", "List runs, newest first."),
    "show": ("prompt_evaluator.cli.runs_show:show_command", "Show a run's summary, some of its cases, or one case."),
    "watch": ("prompt_evaluator.cli.runs_watch:watch_command", "Watch a run in another process."),
    "edit": ("prompt_evaluator.cli.runs_edit:edit_command", "Change a run's tags and note."),
    "pin": ("prompt_evaluator.cli.runs_edit:pin_command", "Pin a run as a baseline under a name."),
    "unpin": ("prompt_evaluator.cli.runs_edit:unpin_command", "Remove a baseline."),
    "baselines": ("prompt_evaluator.cli.runs_edit:baselines_command", "List the baselines."),
    "export": (
        "prompt_evaluator.cli.runs_upkeep:export_command",
        "Write the samples of a run.",
    ),
    "rebuild": ("prompt_evaluator.cli.runs_upkeep:rebuild_command", "Rebuild artifacts from the store."),
    "delete": ("prompt_evaluator.cli.runs_upkeep:delete_command", "Delete a run and its files."),
}


@click.group("runs", cls=LazyGroup, table=_COMMANDS)
def runs_command() -> None:
    """List, show, watch, edit, pin, export, rebuild or delete runs."""
