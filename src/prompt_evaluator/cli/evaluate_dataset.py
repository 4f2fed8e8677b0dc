"""`prompt-evaluator evaluate-dataset`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.evaluate import estimate_evaluation, evaluate_dataset
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.estimate import print_estimate
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import options
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.model.options import OPTIONS, QUICK_SAMPLES

if TYPE_CHECKING:
    from pathlib import Path


@click.command("evaluate-dataset", epilog=legend())
@options("dataset", "system_prompt", "num_samples")
@click.option("--quick", is_flag=True, help=f"Smoke test with {QUICK_SAMPLES} samples per case.")
@options("case_ids", "where", "max_cases", "only", "of")
@options("rubric", "metrics", "metrics_file", "reducers", "fail_under", "fail_over")
@options("generator_model", "temperature", "max_tokens", "seed", "params", "attempts", "template", "render_prompt")
@options("judge_model", "judge_temperature", "judge_repeats", "judge_system_prompt", "allow_mock_judge")
@options("output_dir", "reuse")
@click.option("--resume", metavar="RUN", help="Continue this run instead of starting a new one.")
@click.option("--retry-errors", is_flag=True, help="With --resume: retry what failed.")
@click.option("--estimate", is_flag=True, help="Estimate calls, tokens, cost and time without making a call.")
@options("prompt_version", "run_note", "tags")
@config_option
@run_options
def evaluate_dataset_command(  # noqa: PLR0913 - flags that decide what to do; the others are in `given`
    *,
    flags: RunFlags,
    config_path: Path | None,
    quick: bool,
    resume: str | None,
    retry_errors: bool,
    estimate: bool,
    **given: Any,
) -> None:
    """Evaluate every case of a dataset: N samples each, judged by a rubric, with statistics and artifacts.

    Uses the offline mock unless a generator model is set. Exits 0 if the run completed, 1 if it missed a bar
    (--fail-under, --fail-over), 2 on a usage or input error, 3 if the run failed, and 130 or 143 if it was
    interrupted and can be resumed.
    """
    _check_resuming(resume, retry_errors=retry_errors, estimate=estimate)
    if quick and given["num_samples"] is not None:
        click.echo(f"Warning: --quick is ignored because --num-samples {given['num_samples']} is given.", err=True)
    given["num_samples"] = given["num_samples"] or (QUICK_SAMPLES if quick else None)
    command = RunCommand(flags, config_path, given)
    if resume is None:
        _refuse_missing(given)
    wanted = evaluate_options(command.settings, given, command=command.typed())
    if estimate:
        found = command.wait_for(estimate_evaluation(wanted, command.session))
        print_json(found) if flags.as_json else print_estimate(found)
    elif resume is not None:
        names = [name for name, value in given.items() if value is not None]
        command.carry_out(
            lambda session: resume_run(resume, session, retry_errors=retry_errors, wanted=wanted, names=names)
        )
    else:
        command.carry_out(lambda session: evaluate_dataset(wanted, session))


def _refuse_missing(given: dict[str, Any]) -> None:
    for name in ("dataset", "system_prompt"):
        if given[name] is None:
            raise click.UsageError(f"Missing option {OPTIONS[name].flag!r}.")


def _check_resuming(resume: str | None, *, retry_errors: bool, estimate: bool) -> None:
    if retry_errors and resume is None:
        raise click.UsageError("--retry-errors needs --resume RUN: a new run has no errors to retry.")
    if estimate and resume is not None:
        raise click.UsageError("--estimate is for new runs and cannot be combined with --resume.")
