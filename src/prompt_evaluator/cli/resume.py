"""`prompt-evaluator resume`."""

from __future__ import annotations

import click

from prompt_evaluator.app.evaluate import resume_run
from prompt_evaluator.cli.running import RunCommand


@click.command("resume")
@click.argument("run")
@click.option("--retry-errors", is_flag=True, help="Do again what failed.")
@click.option("--max-concurrency", "-j", type=click.IntRange(1), help="Calls in flight at most, per key.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output and nothing else.")
@click.option("--strict", is_flag=True, help="Exit 3 when a sample has no score.")
def resume_command(run: str, *, retry_errors: bool, max_concurrency: int | None, as_json: bool, strict: bool) -> None:
    """Continue RUN (an id, or the start of one) with its own settings; only what is missing is paid for.

    Refuses, before any call, when the dataset, the prompt or the rubric is no longer what the run was made from.
    """
    command = RunCommand(max_concurrency=max_concurrency, as_json=as_json, strict=strict)
    command.carry_out(lambda session: resume_run(run, session, retry_errors=retry_errors))
