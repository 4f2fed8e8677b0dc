"""`prompt-evaluator resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import options
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.options import EvaluateOptions

if TYPE_CHECKING:
    from pathlib import Path


@click.command("resume", epilog=legend())
@click.argument("run")
@click.option("--retry-errors", is_flag=True, help="Retry what failed.")
@options("fail_under", "fail_over")
@settings_options
@run_options
def resume_command(run: str, *, retry_errors: bool, config_path: Path | None, flags: RunFlags, **bars: Any) -> None:
    """Continue RUN (an id, its beginning, @last or a tag) with its own settings. Only what is missing is paid for.

    Refuses before any call if the dataset, prompt or rubric has changed since the run started. Bars given here
    apply in addition to the run's own, even if it has already ended.
    """
    command = RunCommand(flags, config_path)
    wanted = EvaluateOptions(**{name: bar for name, bar in bars.items() if bar is not None})
    command.carry_out(lambda session: resume_run(run, session, retry_errors=retry_errors, wanted=wanted, names=()))
