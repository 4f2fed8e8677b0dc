"""`prompt-evaluator resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options

if TYPE_CHECKING:
    from pathlib import Path


@click.command("resume", epilog=legend())
@click.argument("run")
@click.option("--retry-errors", is_flag=True, help="Do again what failed.")
@config_option
@run_options
def resume_command(run: str, *, retry_errors: bool, config_path: Path | None, flags: RunFlags) -> None:
    """Continue RUN (an id, or the start of one) with its own settings; only what is missing is paid for.

    Refuses, before any call, when the dataset, the prompt or the rubric is no longer what the run was made from.
    """
    command = RunCommand(flags, config_path)
    command.carry_out(lambda session: resume_run(run, session, retry_errors=retry_errors))
