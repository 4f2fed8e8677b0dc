"""`prompt-evaluator evaluate-dataset`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from prompt_evaluator.app.evaluate import estimate_evaluation, evaluate_dataset
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.cli.estimate import print_estimate
from prompt_evaluator.cli.evaluation_options import evaluation_options, take_models, with_quick
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import option, options
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.options import OPTIONS

_AB_TEST = "--ab-test-system-prompt"


@click.command("evaluate-dataset", epilog=legend())
@options("dataset")
@option("system_prompt", several=True)
@click.option(_AB_TEST, "ab_test", is_flag=True, help="Evaluate without the system prompt and with it, and compare.")
@evaluation_options
@click.option("--resume", metavar="RUN", help="Continue this run instead of starting a new one.")
@click.option("--retry-errors", is_flag=True, help="With --resume: retry what failed.")
@click.option("--estimate", is_flag=True, help="Estimate calls, tokens, cost and time without making a call.")
@options("prompt_version", "run_note", "tags")
@click.option("--gate", metavar="BASELINE", help="Gate the finished run against this one, as `gate` does.")
@click.option(
    "--policy",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --gate: what the run has to meet.  [default: gates.yaml in this folder, or built in]",
)
@settings_options
@run_options
def evaluate_dataset_command(  # noqa: PLR0913 - flags that decide what to do; the others are in `given`
    *,
    flags: RunFlags,
    config_path: Path | None,
    ab_test: bool,
    quick: bool,
    resume: str | None,
    retry_errors: bool,
    estimate: bool,
    gate: str | None,
    policy: Path | None,
    **given: Any,
) -> None:
    """Evaluate every case of a dataset: N samples each, judged by a rubric, with statistics and artifacts.

    Several system prompts or models make a group of runs, every model with every prompt, shown in one table. Uses the
    offline mock unless a generator model is set. Exits 0 if the run completed, 1 if it missed a bar (--fail-under,
    --fail-over), 2 on a usage or input error, 3 if the run failed, and 130 or 143 if it was interrupted and can be
    resumed; of several runs, the worst decides. With --gate also the gate's: 1 fail, 3 no usable data, 4 inconclusive;
    of both, the first of 130 or 143, 3, 1, 4 and 0.
    """
    _check_resuming(resume, retry_errors=retry_errors, estimate=estimate)
    with_quick(given, quick=quick)
    prompts, models = given.pop("system_prompt") or (), take_models(given)
    given["system_prompt"] = prompts[0] if prompts else None
    _check_several(prompts, models, given, resume=resume, ab_test=ab_test)
    if gate is not None or policy is not None:
        _check_gate(gate, several=ab_test or len(prompts) > 1 or len(models) > 1, other=resume or estimate)
    command = RunCommand(flags, config_path, given)
    if resume is None:
        _refuse_missing(given)
    wanted = evaluate_options(command.settings, given, command=command.typed())
    if ab_test or len(prompts) > 1 or len(models) > 1:
        from prompt_evaluator.cli.matrix import Matrix  # noqa: PLC0415 - one run needs none of it

        matrix = Matrix(command, wanted, prompts, models, without=ab_test)
        if matrix.is_several:
            sys.exit(matrix.estimate() if estimate else matrix.compare() if ab_test else matrix.run())
    if estimate:
        found = command.wait_for(estimate_evaluation(wanted, command.session))
        print_json(found) if flags.as_json else print_estimate(found)
    elif resume is not None:
        names = [name for name, value in given.items() if value is not None]
        command.carry_out(
            lambda session: resume_run(resume, session, retry_errors=retry_errors, wanted=wanted, names=names)
        )
    else:
        if gate is not None:
            from prompt_evaluator.cli.gated_run import run_and_gate  # noqa: PLC0415 - only with --gate

            sys.exit(run_and_gate(command, wanted, gate, policy))
        command.carry_out(lambda session: evaluate_dataset(wanted, session))


def _refuse_missing(given: dict[str, Any]) -> None:
    for name in ("dataset", "system_prompt"):
        if given[name] is None:
            raise click.UsageError(f"Missing option {OPTIONS[name].flag!r}.")


def _check_gate(gate: str | None, *, several: bool, other: object) -> None:
    if gate is None:
        raise click.UsageError("--policy says what --gate demands: add --gate BASELINE.")
    if several:
        raise click.UsageError("--gate is for one run: gate each of several with `gate RUN --baseline RUN`.")
    if other:
        raise click.UsageError("--gate is for new runs and cannot be combined with --resume or --estimate.")


def _check_resuming(resume: str | None, *, retry_errors: bool, estimate: bool) -> None:
    if retry_errors and resume is None:
        raise click.UsageError("--retry-errors needs --resume RUN: a new run has no errors to retry.")
    if estimate and resume is not None:
        raise click.UsageError("--estimate is for new runs and cannot be combined with --resume.")


def _check_several(
    prompts: tuple[str, ...], models: tuple[str, ...], given: dict[str, Any], *, resume: str | None, ab_test: bool
) -> None:
    if resume is not None and (ab_test or len(prompts) > 1 or len(models) > 1):
        what = _AB_TEST if ab_test else "several prompts or models"
        raise click.UsageError(f"--resume continues one run, so it cannot be combined with {what}. Resume each run.")
    if len(prompts) > 1 and ab_test:
        why = "it compares one prompt with none. To compare prompts, leave it out or use compare-prompts."
        raise click.UsageError(f"{_AB_TEST} cannot be combined with several prompts: {why}")
    if len(prompts) > 1 and given["prompt_version"] is not None:
        why = "runs are told apart by the files of their prompts. Leave it out."
        raise click.UsageError(f"--prompt-version names one prompt, but {len(prompts)} are given: {why}")
