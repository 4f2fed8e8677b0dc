"""`prompt-evaluator generate`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from prompt_evaluator.app.generate import generate
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.running import print_json


@click.command("generate")
@click.argument("prompt", required=False)
@click.option("--model", "-m", help="Who answers.  [default: mock/default]")
@click.option("--system-prompt", "-s", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A file.")
@click.option("--temperature", "-t", type=click.FloatRange(0), default=0.7, show_default=True)
@click.option("--max-tokens", type=click.IntRange(1), help="Of the answer.")
@click.option("--seed", type=int, help="Makes the answer repeatable where the model can.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as one JSON object.")
@config_option
def generate_command(  # noqa: PLR0913 - one parameter a flag
    prompt: str | None,
    *,
    model: str | None,
    system_prompt: Path | None,
    temperature: float,
    max_tokens: int | None,
    seed: int | None,
    as_json: bool,
    config_path: Path | None,
) -> None:
    """Ask a model once: PROMPT, or what comes on standard input. Nothing is stored."""
    text = prompt if prompt is not None else sys.stdin.read()
    if not text.strip():
        raise click.UsageError("There is no prompt. Give one, or pipe it in.")
    settings = read_settings(config_path)
    system = system_prompt.read_text(encoding="utf-8") if system_prompt else None
    answer = asyncio.run(
        generate(
            text,
            Session(settings=settings),
            model=model or settings.value("generator.model"),
            system=system,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
        )
    )
    if as_json:
        print_json(answer)
        return
    click.echo(answer.text)
    if answer.synthetic:
        click.echo(click.style("synthetic: made up offline by the mock", fg="yellow"), err=True)
