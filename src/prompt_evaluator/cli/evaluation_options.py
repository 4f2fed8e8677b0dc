"""Options of every command that evaluates prompts on a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.cli.options import option, options
from prompt_evaluator.model.options import QUICK_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS = (
    options("num_samples"),
    click.option("--quick", is_flag=True, help=f"Smoke test with {QUICK_SAMPLES} samples per case."),
    options("case_ids", "where", "max_cases", "only", "of"),
    options("rubric", "metrics", "metrics_file", "reducers", "fail_under", "fail_over"),
    option("generator_model", several=True),
    options("temperature", "max_tokens", "seed", "params", "attempts", "template", "render_prompt"),
    options("judge_model", "judge_temperature", "judge_repeats", "judge_system_prompt", "allow_mock_judge"),
    options("output_dir", "reuse"),
)


def evaluation_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add these options to a command."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


def with_quick(given: dict[str, Any], *, quick: bool) -> None:
    """Apply `--quick` to the options; warn if it has no effect."""
    if quick and given["num_samples"] is not None:
        click.echo(f"Warning: --quick is ignored because --num-samples {given['num_samples']} is given.", err=True)
    given["num_samples"] = given["num_samples"] or (QUICK_SAMPLES if quick else None)


def take_models(given: dict[str, Any]) -> tuple[str, ...]:
    """Return the models, each once. The first remains in the options, as if it were the only one."""
    named: tuple[str, ...] = given["generator_model"] or ()
    models = tuple(dict.fromkeys(named))
    for model in models:
        if named.count(model) > 1:
            click.echo(f"Warning: {model} is given twice and evaluated once.", err=True)
    given["generator_model"] = models[0] if models else None
    return models
