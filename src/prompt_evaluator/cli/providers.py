"""`prompt-evaluator providers`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.price_update import DEFAULT_ADDRESS, update_prices
from prompt_evaluator.app.providers import asked_for, try_provider
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.lazy import LazyGroup
from prompt_evaluator.cli.settings_options import config_option
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from pathlib import Path

_COMMANDS = {
    "test": ("prompt_evaluator.cli.providers:test_command", "Make one short call to a model and show the answer."),
    "update-prices": ("prompt_evaluator.cli.providers:update_prices_command", "Fetch the current list prices."),
}


@click.group("providers", cls=LazyGroup, table=_COMMANDS)
def providers_command() -> None:
    """Find out whether a model answers, and what models cost."""


@click.command("test")
@click.argument("name")
@config_option
def test_command(name: str, *, config_path: Path | None) -> None:
    """Make one short call to NAME (PROVIDER/MODEL) and show the answer."""
    configured = read_settings(config_path).providers
    click.echo(f"Asking {asked_for(name, configured)} ...", err=True)
    answer = asyncio.run(try_provider(name, configured))
    tokens = f"{_known(answer.usage.input_tokens)} tokens in, {_known(answer.usage.output_tokens)} out"
    cost = "cost unknown" if answer.cost is None else f"${answer.cost:.6f}"
    tries = "1 try" if answer.tries == 1 else f"{answer.tries} tries"
    click.echo(f"{click.style('ok', fg='green')}  {answer.model} answered in {answer.latency_ms:,.0f} ms ({tries})")
    click.echo(f"    {tokens}, {cost}{', synthetic' if answer.synthetic else ''}")
    click.echo(f"    {answer.text.strip()[:200]!r}")


@click.command("update-prices")
@click.option("--from", "address", metavar="URL", help=f"Where to fetch them from.  [default: {DEFAULT_ADDRESS}]")
def update_prices_command(address: str | None) -> None:
    """Fetch the current list prices of models, and use them from now on.

    Prices are never fetched unless you ask for it. They are those of genai-prices and are kept in your data folder.
    """
    done = update_prices(datetime.now(UTC).date(), address or DEFAULT_ADDRESS)
    changes = f"{done.new} new, {done.changed} with other prices, {done.gone} gone"
    click.echo(f"Prices of {many(done.models, 'model')} as of {done.as_of} (before: {done.before}): {changes}.")


def _known(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
