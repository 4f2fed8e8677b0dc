"""`prompt-evaluator providers`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from prompt_evaluator.app.providers import asked_for, calls_at_once, list_providers, try_provider
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.settings_options import config_option

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.app.providers import ProviderStatus


@click.group("providers", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@config_option
@click.pass_context
def providers_command(context: click.Context, *, as_json: bool, config_path: Path | None) -> None:
    """List model providers: their keys (present or missing, never the value), addresses and limits."""
    if context.invoked_subcommand is not None:
        return
    found = list_providers(read_settings(config_path).providers)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode({"providers": found}), indent=2) + b"\n")
        return
    width = max(len(status.name) for status in found)
    for status in found:
        click.echo(f"{click.style(status.name.ljust(width), bold=True)}  {_key(status)}")
        click.echo(f"{'':{width}}  {_address(status)}; {_limits(status)}")


@providers_command.command("test")
@click.argument("name")
@config_option
def providers_test_command(name: str, *, config_path: Path | None) -> None:
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


def _address(status: ProviderStatus) -> str:
    source = f" (from {status.address_source})" if status.address_source else ""
    return f"{status.address or 'on this machine'}{source}{f', proxy {status.proxy}' if status.proxy else ''}"


def _key(status: ProviderStatus) -> str:
    if status.key_present is None:
        return "no key needed"
    mark = click.style("present", fg="green") if status.key_present else click.style("missing", fg="yellow")
    return f"key {status.key}: {mark}"


def _limits(status: ProviderStatus) -> str:
    limits = status.limits
    parts = [f"at most {calls_at_once(limits)} calls at once"]
    parts += [f"{limits.requests_per_minute:,} requests a minute"] if limits.requests_per_minute else []
    parts += [f"{limits.tokens_per_minute:,} tokens a minute"] if limits.tokens_per_minute else []
    return ", ".join(parts)


def _known(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"
