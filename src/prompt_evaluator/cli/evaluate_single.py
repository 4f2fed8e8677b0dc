"""`prompt-evaluator evaluate-single`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.evaluate_dataset import commas, evaluate_options
from prompt_evaluator.cli.question import question
from prompt_evaluator.cli.running import RunCommand, RunFlags, run_options
from prompt_evaluator.model import TestCase


@click.command("evaluate-single")
@click.argument("input", required=False)
@click.option("--system-prompt", "-s", required=True, help="The system prompt: a file, or a configured name.")
@click.option("--task", help="What is to be done; shown to the judge.")
@click.option("--expected-constraints", help="What the answer has to respect; shown to the judge.")
@click.option("--reference", help="An ideal answer; shown to the judge.")
@click.option("--num-samples", "-n", type=click.IntRange(1), help="Samples.  [default: 5]")
@click.option("--rubric", help="A rubric that ships, a file, or a configured name.  [default: default]")
@click.option("--metrics", callback=commas, help="Metrics beside the rubric, separated by commas.")
@click.option("--generator-model", help="The model under test.  [default: mock/default]")
@click.option("--judge-model", help="The model that judges.  [default: the generator's]")
@click.option("--temperature", "-t", type=click.FloatRange(0), help="Of the generator.  [default: 0.7]")
@click.option("--max-tokens", type=click.IntRange(1), help="Of each answer.")
@click.option("--seed", type=int, help="Sample k uses seed + k.")
@click.option("--allow-mock-judge", is_flag=True, help="Let the mock judge a real model's answers.")
@click.option("--output-dir", "-o", type=click.Path(path_type=Path), help="Where results go.  [default: runs]")
@config_option
@run_options
def evaluate_single_command(  # noqa: PLR0913 - what makes up the one case
    *,
    flags: RunFlags,
    config_path: Path | None,
    input: str | None,  # noqa: A002 - the argument's name
    system_prompt: str,
    task: str | None,
    expected_constraints: str | None,
    reference: str | None,
    **given: Any,
) -> None:
    """Evaluate one INPUT (or what comes on standard input): N samples, judged by a rubric."""
    text = question(input, "input")
    case = TestCase(id="input", input=text, task=task, expected_constraints=expected_constraints, reference=reference)
    command = RunCommand(flags, config_path, given)
    prompt = command.settings.named("prompt_templates", system_prompt)
    options = evaluate_options(command.settings, given, cases=(case,), system_prompt=prompt)
    command.carry_out(lambda session: evaluate_dataset(options, session))
