"""`prompt-evaluator providers`."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
import msgspec

from prompt_evaluator.app.price_update import DEFAULT_ADDRESS, update_prices
from prompt_evaluator.app.providers import asked_for, try_provider
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.lazy import LazyGroup
from prompt_evaluator.cli.settings_options import config_option
from prompt_evaluator.cli.text import clean
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from prompt_evaluator.app.providers import Trial
    from prompt_evaluator.model import Answer

_COMMANDS = {
    "test": (
        "prompt_evaluator.cli.providers:test_command",
        "Send a model what a run would send, and show what happens.",
    ),
    "update-prices": ("prompt_evaluator.cli.providers:update_prices_command", "Fetch the current list prices."),
}


@click.group("providers", cls=LazyGroup, table=_COMMANDS)
def providers_command() -> None:
    """Test whether a model answers, and fetch what models cost."""


@click.command("test")
@click.argument("name")
@config_option
def test_command(name: str, *, config_path: Path | None) -> None:
    """Send NAME (PROVIDER/MODEL) what a run would send, as the model under test and as the judge.

    Shows which parameters were sent and left out, tokens and cost. Exits 3 if a run could not use the model.
    """
    settings = read_settings(config_path)
    click.echo(f"Asking {asked_for(name, settings.providers)} ...", err=True)
    if not asyncio.run(_tried(try_provider(name, settings))):
        sys.exit(3)


async def _tried(trials: AsyncIterator[Trial]) -> bool:
    """Show each trial as it ends. Return whether a run could use the model."""
    usable = True
    async for trial in trials:
        usable = usable and trial.failed is None
        for line in _lines(trial):
            click.echo(line)
    return usable


def _lines(trial: Trial) -> Iterator[str]:
    answer = trial.answers[-1] if trial.answers else None
    mark = click.style("failed", fg="red") if trial.failed else click.style("ok", fg="green")
    if answer is None:
        yield f"{mark}  as {trial.role}: {trial.failed}"
        return
    tries = "1 try" if answer.tries == 1 else f"{answer.tries} tries"
    yield f"{mark}  as {trial.role}: {answer.model} answered in {answer.latency_ms:,.0f} ms ({tries})"
    if trial.failed:
        yield f"    A run could not use this: {clean(trial.failed)}"
    if answer.sent:
        parameters = ", ".join(f"{key} {_value(value)}" for key, value in answer.sent.parameters.items())
        yield f"    sent to {answer.sent.path}: {parameters or 'no parameters'}"
        for left in answer.sent.left_out or trial.config.left_out:
            why = clean(f" ({left.detail})" if left.detail else "")
            yield f"    left out, as in a run: {left.field} {_value(left.value)}{why}"
        for name in answer.sent.ignored:
            yield f"    sent without effect: {name}"
    yield f"    {_usage(answer)}"
    if answer.text and trial.failed is None:
        yield f"    {clean(answer.text.strip()[:200])!r}"


def _usage(answer: Answer) -> str:
    usage = answer.usage
    parts = [f"{_known(usage.input_tokens)} tokens in"]
    if usage.cached_tokens or usage.cache_write_tokens:
        parts[0] += f" ({usage.cached_tokens:,} from the cache, {usage.cache_write_tokens:,} written to it)"
    reasoning = f" ({usage.reasoning_tokens:,} of them reasoning)" if usage.reasoning_tokens else ""
    parts.append(f"{_known(usage.output_tokens)} out{reasoning}")
    parts.append("price unknown" if answer.cost is None else f"${answer.cost:.6f}")
    if answer.synthetic:
        parts.append("synthetic")
    return ", ".join(parts)


def _value(value: object) -> str:
    return msgspec.json.encode(value).decode()


@click.command("update-prices")
@click.option("--from", "address", metavar="URL", help=f"Where to fetch them from.  [default: {DEFAULT_ADDRESS}]")
def update_prices_command(address: str | None) -> None:
    """Fetch the current list prices of models, and use them from now on.

    Prices are never fetched unless you ask for it. They come from genai-prices and are kept in your data folder.
    """
    done = update_prices(datetime.now(UTC).date(), address or DEFAULT_ADDRESS)
    changes = f"{done.new} new, {done.changed} with other prices, {done.gone} gone"
    click.echo(f"Prices of {many(done.models, 'model')} as of {done.as_of} (before: {done.before}): {changes}.")


def _known(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
