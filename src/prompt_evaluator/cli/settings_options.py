"""`--config` and `--store`, for every command that reads settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

if TYPE_CHECKING:
    from collections.abc import Callable

C = TypeVar("C", bound="Callable[..., Any]")
_VARIABLE = "PROMPT_EVALUATOR_STORE"

config_option = click.option(
    "--config",
    "-c",
    "config_path",
    type=click.Path(path_type=Path),
    help="The configuration file.  [default: prompt_evaluator.yaml in this folder or a parent]",
)


def _use(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    """Set the variable while the command runs, so that processes it starts use the same store."""
    if value is None:
        return
    if not value.strip():
        raise click.BadParameter("it is empty. Name a file or a postgresql:// address.")
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = value

    def restore() -> None:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before

    context.call_on_close(restore)


store_option = click.option(
    "--store",
    metavar="STORE",
    expose_value=False,
    callback=_use,
    help=f"Where runs are: a file, or a postgresql:// address.  [default: {_VARIABLE} or that of the configuration]",
)


def settings_options(command: C) -> C:
    """Both, for a command that makes or reads runs."""
    return config_option(store_option(command))


def without_password(store: str) -> str:
    """A store as it may be shown and kept; the password is to be set elsewhere, such as in PGPASSWORD."""
    scheme, mark, _ = store.partition("://")
    if not mark:
        return store
    try:
        parts = urlsplit(store)
    except ValueError:  # it cannot be opened either
        return scheme + mark
    account, at, host = parts.netloc.rpartition("@")
    options = [option for option in parts.query.split("&") if "pass" not in option.partition("=")[0].lower()]
    return parts._replace(netloc=account.partition(":")[0] + at + host, query="&".join(options)).geturl()
