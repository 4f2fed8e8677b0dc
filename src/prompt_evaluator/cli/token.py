"""`prompt-evaluator token`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.tokens import DEFAULT_EXPIRY, TokenCaps, create_token, list_tokens, revoke_token
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.output import json_option, print_json, print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import cells, clean, columns, pad, squeeze, wrap
from prompt_evaluator.model.bounds import BUDGET, CONCURRENCY, SAMPLES
from prompt_evaluator.model.token import ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.model.token import Role, Token

_TITLES = ("Id", "Name", "Role", "State", "Expires", "Last used")
_NAME = 1
_SHORTEST_NAME = 8
_COLOURS = {"valid": "green", "expired": "yellow", "revoked": "red"}
_USE = (
    "This is the only time the token is shown: keep it secret, and send it with every request as "
    "`Authorization: Bearer TOKEN`, or use it to sign in."
)
_FOREVER = "Warning: this token never expires, so it stays valid until you revoke it."


@click.group("token")
def token_command() -> None:
    """Make, list or revoke the tokens that let others use a server."""


@token_command.command("create")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="Each may do what those before it may.")
@click.option(
    "--expires",
    metavar="WHEN",
    default=DEFAULT_EXPIRY,
    show_default=True,
    help="A time from now such as 30d or 12h, a date such as 2027-01-01 (UTC), at most 366 days from now; or `never`.",
)
@click.option("--max-samples", type=number_type(SAMPLES), metavar="N", help="Samples per case of a run it asks for.")
@click.option("--max-cost", type=number_type(BUDGET), metavar="N", help="US dollars that a run it asks for may spend.")
@click.option("--max-concurrency", type=number_type(CONCURRENCY), metavar="N", help="Calls in flight of such a run.")
@settings_options
def create_command(name: str, *, role: Role, expires: str, config_path: Path | None, **caps: Any) -> None:
    """Make a token for NAME, a person or a program, and print it, once, to standard output.

    A viewer reads; a labeller also scores answers; a runner also starts and stops runs, which costs money; an admin may
    do everything. Only a hash of the token is stored.
    """
    made = create_token(read_settings(config_path), name, role, now=now(), expires=expires, caps=TokenCaps(**caps))
    click.echo(made.text.reveal())
    token = made.token
    until = f"valid until {_time(token.expires_at)} UTC" if token.expires_at else "always valid"
    about = f"Token {token.id} of {token.name}: {token.role}, {until}. {_USE}"
    for text in (about,) if token.expires_at else (about, _FOREVER):
        click.echo("\n".join(wrap(clean(text), columns(sys.stderr) - 1)), err=True)


@token_command.command("list")
@json_option
@settings_options
def list_command(*, as_json: bool, config_path: Path | None) -> None:
    """List all tokens, oldest first, without their secrets."""
    found, at = list_tokens(read_settings(config_path)), now()
    if as_json:
        print_json({"tokens": [{**msgspec.structs.asdict(token), "state": token.state(at)} for token in found]})
    elif not found:
        click.echo("There are no tokens. Make one: prompt-evaluator token create NAME --role viewer")
    else:
        print_lines(token_table(found, columns(sys.stdout) - 1, at))


@token_command.command("revoke")
@click.argument("name")
@settings_options
def revoke_command(name: str, *, config_path: Path | None) -> None:
    """Revoke the token with this NAME or id. It is refused from now on, by all servers with the same store."""
    token = revoke_token(read_settings(config_path), name, now=now())
    click.echo(clean(f"Revoked token {token.id} of {token.name}."))


def token_table(tokens: Sequence[Token], width: int, now: str) -> list[str]:
    """A header and the tokens, in lines of at most `width` columns unless the terminal is very narrow, in colour."""
    rows = [_TITLES, *(_row(token, now) for token in tokens)]
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    others = sum(widths) - widths[_NAME] + 2 * (len(widths) - 1)
    widths[_NAME] = min(widths[_NAME], max(_SHORTEST_NAME, width - others))
    header, *lines = ([pad(squeeze(text, wide), wide) for text, wide in zip(row, widths, strict=True)] for row in rows)
    for line, token in zip(lines, tokens, strict=True):
        at = _TITLES.index("State")
        line[at] = click.style(line[at], fg=_COLOURS[token.state(now)])
    return [click.style("  ".join(header).rstrip(), dim=True), *("  ".join(line).rstrip() for line in lines)]


def _row(token: Token, now: str) -> tuple[str, ...]:
    last = _time(token.last_used_at) if token.last_used_at else "never"
    expires = _time(token.expires_at) if token.expires_at else "never"
    return (token.id, clean(token.name), token.role, token.state(now), expires, last)


def _time(moment: str) -> str:
    """`2027-01-01 12:00`."""
    return moment[:16].replace("T", " ")
