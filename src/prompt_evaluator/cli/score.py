"""`prompt-evaluator score`."""

from __future__ import annotations

import click

from prompt_evaluator.app.evaluate import score_run
from prompt_evaluator.cli.running import RunCommand


@click.command("score")
@click.argument("run")
@click.option("--rubric", help="A rubric that ships, or a file.  [default: the run's own]")
@click.option("--judge-model", help="The model that judges.  [default: the run's own]")
@click.option("--judge-temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="Of the judge.")
@click.option(
    "--judge-repeats", type=click.IntRange(1), default=1, show_default=True, help="Judge each answer so often."
)
@click.option("--allow-mock-judge", is_flag=True, help="Let the mock judge a real model's answers.")
@click.option("--max-concurrency", "-j", type=click.IntRange(1), help="Calls in flight at most, per key.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output and nothing else.")
@click.option("--strict", is_flag=True, help="Exit 3 when a sample has no score.")
def score_command(  # noqa: PLR0913 - one parameter a flag
    run: str,
    *,
    rubric: str | None,
    judge_model: str | None,
    judge_temperature: float,
    judge_repeats: int,
    allow_mock_judge: bool,
    max_concurrency: int | None,
    as_json: bool,
    strict: bool,
) -> None:
    """Judge the stored answers of RUN again, as a new run that names RUN as its parent. Nothing is generated."""
    command = RunCommand(max_concurrency=max_concurrency, as_json=as_json, strict=strict)
    command.carry_out(
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
