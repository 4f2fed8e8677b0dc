"""`prompt-evaluator generate`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.generate import generate
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.options import option
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.cli.question import question
from prompt_evaluator.cli.settings_options import config_option

if TYPE_CHECKING:
    from pathlib import Path


@click.command("generate")
@click.argument("prompt", required=False)
@click.option("--model", "-m", help="The model to call, as PROVIDER/MODEL.  [default: mock/default]")
@option("system_prompt", help="The system prompt: a file, or a configured name.")
@option("temperature", help="Temperature of the model.")
@option("max_tokens", help="Maximum number of tokens in the answer.")
@option("seed", help="Makes the answer repeatable if the model supports it.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as one JSON object.")
@config_option
def generate_command(
    prompt: str | None,
    *,
    model: str | None,
    system_prompt: str | None,
    as_json: bool,
    config_path: Path | None,
    **given: Any,
) -> None:
    """Send PROMPT, or standard input, to a model and print the answer. Nothing is stored."""
    text = question(prompt, "prompt")
    settings = read_settings(config_path, {"generator_model": model, **given})
    answer = asyncio.run(
        generate(
            text,
            settings,
            model=settings.value("generator.model"),
            system=settings.named("prompt_templates", system_prompt) if system_prompt else None,
            temperature=settings.value("generator.temperature"),
            max_tokens=settings.value("generator.max_tokens"),
            seed=settings.value("generator.seed"),
        )
    )
    if as_json:
        print_json(answer)
        return
    click.echo(answer.text)
    if answer.synthetic:
        click.echo(click.style("synthetic: made up offline by the mock", fg="yellow"), err=True)
