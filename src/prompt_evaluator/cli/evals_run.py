"""`prompt-evaluator evals run`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from prompt_evaluator.app.evals.parts import harness_parts
from prompt_evaluator.app.evals.running import resume_harness, run_harness
from prompt_evaluator.app.evals.tasks import Choice, open_harness
from prompt_evaluator.app.groups import estimate_group
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.cli.evals_dir import evals_dir_option
from prompt_evaluator.cli.evals_estimate import print_harness_estimate
from prompt_evaluator.cli.evals_summary import conclude_harness
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.options import option, several_words
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.bounds import SAMPLES
from prompt_evaluator.model.several import SEVERAL

if TYPE_CHECKING:
    from pathlib import Path

_CHOICES = {"config_ids": "--config-ids", "categories": "--categories", "task_ids": "--task-ids"}


@click.command("run")
@evals_dir_option
@click.option(
    "--config-ids", multiple=True, callback=several_words, help=f"Run only these configurations, by id. {SEVERAL}"
)
@click.option("--categories", multiple=True, callback=several_words, help=f"Run only tasks of these kinds. {SEVERAL}")
@click.option("--task-ids", multiple=True, callback=several_words, help=f"Run only these tasks, by id. {SEVERAL}")
@click.option(
    "--samples", "-n", type=number_type(SAMPLES), metavar="N", help="Run each task this many times.  [default: 1]"
)
@click.option("--resume", is_flag=True, help="Continue the last run of this folder, if it was interrupted.")
@click.option("--estimate", is_flag=True, help="Estimate calls, tokens, cost and time without making a call.")
@option("output_dir", help="Where the runs' own files go.")
@option("run_note", help="A sentence to remember the runs by.")
@settings_options
@run_options
def run_command(  # noqa: PLR0913 - flags that decide what to run; the others are in `given`
    *,
    evals_dir: Path,
    samples: int | None,
    resume: bool,
    estimate: bool,
    flags: RunFlags,
    config_path: Path | None,
    **given: Any,
) -> None:
    """Run every task in `tasks/*.json` with every configuration in `configs/providers.json`.

    The results are added to `results/`: `latest.json`, `history.json`, `leaderboard.json` and `trends.json`. The
    offline mock answers, unless EVAL_ROUTER_URL is set or a configuration names a target. Exits 0 if the run was
    carried out, whatever the scores; 2 on a usage or input error; 3 if a configuration got no answer at all, or could
    not be finished; and 130 or 143 if it was interrupted. An unfinished run is added to the results once it is resumed.
    """
    choice = {name: given.pop(name) for name in _CHOICES}
    _check_resuming({**choice, "samples": samples}, resume=resume, estimate=estimate)
    command = RunCommand(flags, config_path, given)
    is_named = click.get_current_context().get_parameter_source("evals_dir") is not ParameterSource.DEFAULT
    harness = open_harness(evals_dir, Choice(**choice), is_named=is_named)
    wanted = evaluate_options(
        command.settings, given, rubric=None, metrics=(), num_samples=samples or 1, command=command.typed()
    )
    if estimate:
        parts = harness_parts(harness, wanted, command.settings)
        print_harness_estimate(command, command.wait_for(estimate_group(parts, command.session)))
        return
    use_case = resume_harness if resume else run_harness
    outcome = command.wait_for(use_case(harness, wanted, command.session))
    sys.exit(conclude_harness(command, outcome, ("--evals-dir", str(evals_dir)) if is_named else ()))


def _check_resuming(given: dict[str, Any], *, resume: bool, estimate: bool) -> None:
    if not resume:
        return
    if estimate:
        raise click.UsageError("--estimate is for new runs and cannot be combined with --resume.")
    for name, value in given.items():
        if value is not None:
            flag = _CHOICES.get(name, f"--{name}")
            raise click.UsageError(f"--resume continues the last run with its own settings. Leave out {flag}.")
