"""`prompt-evaluator evals gate`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.evals.gate import GateRequest, judge_release
from prompt_evaluator.app.evals.gate_documents import gate_document, gate_junit, tell_github
from prompt_evaluator.app.evals.limits import VARIABLES, gate_limits
from prompt_evaluator.app.evals.named_runs import PREVIOUS
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.evals_dir import evals_dir_option
from prompt_evaluator.cli.evals_gate_view import print_outcome
from prompt_evaluator.cli.gate import COMMENT
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.options import several_words
from prompt_evaluator.cli.output import json_option, print_json, print_lines, write_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.model.bounds import TOLERANCE
from prompt_evaluator.model.harness_gate import Difference, GateLimits
from prompt_evaluator.model.several import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Callable

_ALLOWED = get_args(Difference)


def _limit(flag: str, name: str, what: str) -> Callable[[Any], Any]:
    default = f"{getattr(GateLimits(), name):g}"
    return click.option(
        flag,
        name,
        type=number_type(TOLERANCE),
        metavar="X",
        help=f"{what}  [env: {VARIABLES[name]}; default: {default}]",
    )


def _differences(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    words = several_words(context, parameter, values) or ()
    if unknown := [word for word in words if word not in _ALLOWED]:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(_ALLOWED)}.", param=parameter)
    return words


@click.command("gate")
@evals_dir_option
@click.option(
    "--baseline",
    default=PREVIOUS,
    show_default=True,
    metavar="RUN|FILE",
    help="What to compare the latest run with: `previous`, the run before it; a run's id; or a file with a run.",
)
@click.option("--require-baseline", is_flag=True, help="Exit with code 3, not 0, if there is nothing to compare with.")
@_limit("--max-completion-drop", "completion_drop", "Points the task completion rate may drop.")
@_limit("--max-latency-increase-ms", "latency_increase_ms", "Milliseconds the average latency may increase.")
@_limit("--max-hallucination-increase", "hallucination_increase", "How many more hallucination incidents there may be.")
@_limit("--max-retries-increase", "retries_increase", "How many more retries per task there may be.")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    callback=_differences,
    metavar="DIFFERENCE",
    help="Compare the runs even if they differ in this: `tasks`, `configs` (what a configuration says), `samples` of "
    "each task, `vanished` configurations, `incomplete` runs, or `mock` (a mock run with a real one). " + SEVERAL,
)
@json_option
@click.option(
    "--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write the verdict to this file as JUnit XML."
)
@click.option("--github", is_flag=True, help="In GitHub Actions: write the summary of the step, and a comment.")
@click.option(
    "--pr-comment",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Where --github writes it.  [default: {COMMENT}]",
)
@settings_options
def gate_command(  # noqa: PLR0913 - one for each flag
    *,
    evals_dir: Path,
    baseline: str,
    require_baseline: bool,
    allowed: tuple[Difference, ...],
    as_json: bool,
    junit: Path | None,
    github: bool,
    pr_comment: Path | None,
    config_path: Path | None,
    **limits: float | None,
) -> None:
    """Fail if the latest run of the harness is worse than its baseline by more than a limit.

    Compares the four metrics of each configuration in `results/history.json`. A metric fails if it is worse by more
    than its limit; exactly the limit passes.

    Runs with different tasks, configurations or samples, a configuration that vanished, an incomplete run, or a mock
    run against a real one are refused unless --allow names the difference.

    Exit codes: 0 if it passed, or there is nothing to compare with; 1 if it failed; 2 if an option, a variable or a
    run's name cannot be used; 3 if there is no usable data: a file that cannot be read, runs that cannot be compared,
    no tasks, or no answers.
    """
    if pr_comment is not None and not github:
        raise click.UsageError("--pr-comment says where --github writes its comment: add --github.")
    environment = read_settings(config_path).environment
    request = GateRequest(
        results=evals_dir / "results",
        limits=gate_limits(limits, environment),
        baseline=baseline,
        require_baseline=require_baseline,
        allowed=allowed,
    )
    outcome = judge_release(request, now())
    if junit is not None:
        write_lines([gate_junit(outcome)], junit)
    if as_json:
        print_json(gate_document(outcome))
    else:
        print_outcome(outcome)
    if github:
        lines = tell_github(outcome, pr_comment or COMMENT, os.environ)
        if not as_json:
            print_lines(lines)
    sys.exit(outcome.exit_code)
