"""`prompt-evaluator score`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.evaluate import score_run
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options

if TYPE_CHECKING:
    from pathlib import Path


@click.command("score")
@click.argument("run")
@click.option("--rubric", help="A rubric that ships, a file, or a configured name.  [default: the run's own]")
@click.option("--judge-model", help="The model that judges.  [default: the run's own]")
@click.option("--judge-temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="Of the judge.")
@click.option(
    "--judge-repeats", type=click.IntRange(1), default=1, show_default=True, help="Judge each answer so often."
)
@click.option("--allow-mock-judge", is_flag=True, help="Let the mock judge a real model's answers.")
@config_option
@run_options
def score_command(  # noqa: PLR0913 - one parameter a flag
    run: str,
    *,
    rubric: str | None,
    judge_model: str | None,
    judge_temperature: float,
    judge_repeats: int,
    allow_mock_judge: bool,
    config_path: Path | None,
    flags: RunFlags,
) -> None:
    """Judge the stored answers of RUN again, as a new run that names RUN as its parent. Nothing is generated."""
    RunCommand(flags, config_path).carry_out(
        lambda session: score_run(
            run,
            session,
            rubric=rubric,
            judge_model=judge_model,
            judge_temperature=judge_temperature,
            judge_repeats=judge_repeats,
            allow_mock_judge=allow_mock_judge,
        )
    )
