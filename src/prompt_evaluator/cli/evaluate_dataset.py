"""`prompt-evaluator evaluate-dataset`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.evaluate import estimate_evaluation, evaluate_dataset, one_input
from prompt_evaluator.app.matrix import choose_prompts
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.cli.estimate import print_estimate
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import option, options
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.options import OPTIONS, QUICK_SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.app.matrix import ChosenPrompt

_INPUT = "--input"


@click.command("evaluate-dataset", epilog=legend())
@options("dataset")
@click.option(_INPUT, "-i", metavar="TEXT", help="One input to evaluate instead of a dataset; its answers are shown.")
@option("system_prompt", several=True)
@options("num_samples")
@click.option("--quick", is_flag=True, help=f"Smoke test with {QUICK_SAMPLES} samples per case.")
@options("case_ids", "where", "max_cases", "only", "of")
@options("rubric", "metrics", "metrics_file", "reducers", "fail_under", "fail_over")
@option("generator_model", several=True)
@options("temperature", "max_tokens", "effort", "seed", "schema", "params", "strict_params")
@options("template", "render_prompt")
@options("judge_model", "judge_temperature", "judge_max_tokens", "judge_effort", "judge_params", "judge_repeats")
@options("judge_system_prompt", "allow_mock_judge")
@options("output_dir", "reuse")
@click.option("--resume", metavar="RUN", help="Continue this run instead of starting a new one.")
@click.option("--retry-errors", is_flag=True, help="With --resume: retry what failed.")
@click.option("--estimate", is_flag=True, help="Estimate calls, tokens, cost and time without making a call.")
@options("prompt_version", "run_note", "tags")
@settings_options
@run_options
def evaluate_dataset_command(  # noqa: PLR0913 - flags that decide what to do; the others are in `given`
    *,
    flags: RunFlags,
    config_path: Path | None,
    input: str | None,  # noqa: A002 - the flag's name
    quick: bool,
    resume: str | None,
    retry_errors: bool,
    estimate: bool,
    **given: Any,
) -> None:
    """Evaluate every case of a dataset: N samples each, judged by a rubric, with statistics and artifacts.

    Several system prompts or models make a group of runs, every model with every prompt, shown in one table; of several
    prompts, each is then compared with the first, as `compare` does. Uses the offline mock unless a generator model is
    set. Exits 0 if the run completed, 1 if it missed a bar (--fail-under, --fail-over), 2 on a usage or input error,
    3 if the run failed, and 130 or 143 if it was interrupted and can be resumed; of several runs, the worst decides.
    """
    _check_resuming(resume, retry_errors=retry_errors, estimate=estimate)
    _with_quick(given, quick=quick)
    prompts, models = given.pop("system_prompt") or (), _take_models(given)
    given["system_prompt"] = prompts[0] if prompts else None
    _check_several(prompts, models, given, resume=resume)
    _check_cases(input, given, resume=resume)
    command = RunCommand(flags, config_path, given, shows_answers=input is not None)
    cases = {} if input is None else {"cases": one_input(input)}
    wanted = evaluate_options(command.settings, given, **cases, command=command.typed())
    chosen = _chosen_prompts(command, prompts)
    if len(chosen) > 1 or len(models) > 1:
        from prompt_evaluator.cli.matrix import Matrix  # noqa: PLC0415 - one run needs none of it

        matrix = Matrix(command, wanted, chosen, models)
        sys.exit(matrix.estimate() if estimate else matrix.run())
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


def _chosen_prompts(command: RunCommand, words: tuple[str, ...]) -> list[ChosenPrompt]:
    chosen, warnings = choose_prompts(command.settings, words)
    for warning in warnings:
        click.echo(f"Warning: {warning}", err=True)
    return chosen


def _check_cases(text: str | None, given: dict[str, Any], *, resume: str | None) -> None:
    if text is not None:
        for flag, other in ((OPTIONS["dataset"].flag, given["dataset"]), ("--resume", resume)):
            if other is not None:
                raise click.UsageError(f"{_INPUT} is the only case of a new run, so it cannot be combined with {flag}.")
        if not text.strip():
            raise click.UsageError("The input is empty.")
    if resume is not None:
        return
    if text is None and given["dataset"] is None:
        raise click.UsageError(f"Missing option '--dataset'. For one input instead of a dataset, use {_INPUT}.")
    if given["system_prompt"] is None:
        raise click.UsageError("Missing option '--system-prompt'.")


def _with_quick(given: dict[str, Any], *, quick: bool) -> None:
    """Apply `--quick` to the options; warn if it has no effect."""
    if quick and given["num_samples"] is not None:
        click.echo(f"Warning: --quick is ignored because --num-samples {given['num_samples']} is given.", err=True)
    given["num_samples"] = given["num_samples"] or (QUICK_SAMPLES if quick else None)


def _take_models(given: dict[str, Any]) -> tuple[str, ...]:
    """Return the models, each once. The first remains in the options, as if it were the only one."""
    named: tuple[str, ...] = given["generator_model"] or ()
    models = tuple(dict.fromkeys(named))
    for model in models:
        if named.count(model) > 1:
            click.echo(f"Warning: {model} is given twice and evaluated once.", err=True)
    given["generator_model"] = models[0] if models else None
    return models


def _check_resuming(resume: str | None, *, retry_errors: bool, estimate: bool) -> None:
    if retry_errors and resume is None:
        raise click.UsageError("--retry-errors needs --resume RUN: a new run has no errors to retry.")
    if estimate and resume is not None:
        raise click.UsageError("--estimate is for new runs and cannot be combined with --resume.")


def _check_several(
    prompts: tuple[str, ...], models: tuple[str, ...], given: dict[str, Any], *, resume: str | None
) -> None:
    if resume is not None and (len(prompts) > 1 or len(models) > 1):
        why = "it cannot be combined with several prompts or models. Resume each run."
        raise click.UsageError(f"--resume continues one run, so {why}")
    if len(prompts) > 1 and given["prompt_version"] is not None:
        why = "runs are told apart by the files of their prompts. Leave it out."
        raise click.UsageError(f"--prompt-version names one prompt, but {len(prompts)} are given: {why}")
