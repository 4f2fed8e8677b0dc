"""`prompt-evaluator resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import options
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.model.options import EvaluateOptions

if TYPE_CHECKING:
    from pathlib import Path


@click.command("resume", epilog=legend())
@click.argument("run")
@click.option("--retry-errors", is_flag=True, help="Do again what failed.")
@options("fail_under", "fail_over")
@config_option
@run_options
def resume_command(run: str, *, retry_errors: bool, config_path: Path | None, flags: RunFlags, **bars: Any) -> None:
    """Continue RUN (an id, or the start of one) with its own settings; only what is missing is paid for.

    Refuses, before any call, when the dataset, the prompt or the rubric is no longer what the run was made from.
    Bars that are given hold beside those the run has, also where it has ended.
    """
    command = RunCommand(flags, config_path)
    wanted = EvaluateOptions(**{name: bar for name, bar in bars.items() if bar is not None})
    command.carry_out(lambda session: resume_run(run, session, retry_errors=retry_errors, wanted=wanted, names=()))
