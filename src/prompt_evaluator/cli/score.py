"""`prompt-evaluator score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.score import score_run
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import option, options
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.bars import Bars

if TYPE_CHECKING:
    from pathlib import Path


@click.command("score", epilog=legend())
@click.argument("run")
@option("rubric", otherwise="the run's own")
@option("judge_model", otherwise="the run's own")
@option("judge_temperature", otherwise="the run's own")
@option("judge_repeats", otherwise="the run's own")
@options("allow_mock_judge", "fail_under", "fail_over")
@settings_options
@run_options
def score_command(run: str, *, config_path: Path | None, flags: RunFlags, **given: Any) -> None:
    """Judge the stored answers of RUN again, as a new run with RUN as its parent. No answers are generated."""
    bars = Bars(fail_under=given.pop("fail_under") or {}, fail_over=given.pop("fail_over") or {})
    command = RunCommand(flags, config_path)
    command.carry_out(lambda session: score_run(run, session, bars=bars, command=command.typed(), **given))
