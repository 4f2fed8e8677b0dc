"""`prompt-evaluator evaluate-single`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.run_cases import show_case
from prompt_evaluator.cli.answers import answers
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.options import option, options
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.question import question
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import columns
from prompt_evaluator.model import TestCase

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.outcome import Outcome


@click.command("evaluate-single", epilog=legend())
@click.argument("input", required=False)
@option("system_prompt", required=True)
@click.option("--task", help="The task; shown to the judge.")
@click.option("--expected-constraints", help="Constraints the answer must meet; shown to the judge.")
@click.option("--reference", help="An ideal answer; shown to the judge.")
@option("num_samples", help="How many answers to generate.")
@options("rubric", "metrics", "metrics_file", "fail_under", "fail_over")
@options("generator_model", "temperature", "max_tokens", "seed", "params", "attempts", "render_prompt")
@options("judge_model", "allow_mock_judge", "output_dir", "reuse")
@settings_options
@run_options
def evaluate_single_command(  # noqa: PLR0913 - the parts of the case
    *,
    flags: RunFlags,
    config_path: Path | None,
    input: str | None,  # noqa: A002 - the argument's name
    task: str | None,
    expected_constraints: str | None,
    reference: str | None,
    **given: Any,
) -> None:
    """Evaluate one INPUT, or standard input: N samples, judged by a rubric.

    Shows each answer with its scores, then the summary.
    """
    text = question(input, "input")
    case = TestCase(id="input", input=text, task=task, expected_constraints=expected_constraints, reference=reference)
    command = RunCommand(flags, config_path, given)
    typed = command.typed()
    if input is None:  # the command alone cannot repeat piped input
        typed = msgspec.structs.replace(typed, arguments=None)
    wanted = evaluate_options(command.settings, given, cases=(case,), command=typed)

    def print_answers(outcome: Outcome) -> None:
        found = show_case(command.settings, outcome.record.plan.run_id, case.id)
        print_lines([*answers(found, columns(sys.stdout) - 1), ""])

    command.carry_out(lambda session: evaluate_dataset(wanted, session), before_summary=print_answers)
