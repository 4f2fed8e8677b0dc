"""Kinds of settings that name hosts and web addresses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from prompt_evaluator.model.declaration import Kind

_NAME = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_PORT = r"(?::[0-9]{1,5})?"
_END = r"$(?!\n)"  # in Python, `$` alone also matches before a final line break

_Host = Annotated[str, Meta(pattern=f"^{_NAME}{_PORT}{_END}")]

ADDRESS = Kind(
    Annotated[str, Meta(pattern=rf"^[A-Za-z0-9.:][A-Za-z0-9._:%-]*{_END}")],
    "an address or a host name, such as 127.0.0.1 or 0.0.0.0",
)
HOSTS = Kind(
    tuple[_Host, ...],
    "a list of host names such as evals.example.org or evals.example.org:8443, without https:// and without a path",
)
"""In a variable, separated by commas. Host names are compared in lower case."""
WEB_ADDRESS = Kind(
    Annotated[str, Meta(pattern=f"^https?://{_NAME}{_PORT}/?{_END}")],
    "an address such as https://evals.example.org, without a path",
)
RESUME = Kind(Literal["auto", "wait"], "`auto` or `wait`")


def hosts_in(text: str) -> list[str]:
    """Split a variable's text at its commas."""
    return [part.strip() for part in text.split(",")]


def normalised(kind: Kind, value: Any) -> Any:
    """Return hosts as a tuple, in lower case and once each, and a web address in lower case, without its last slash."""
    if kind is HOSTS:
        return tuple(dict.fromkeys(host.lower() for host in value))
    return value.lower().removesuffix("/") if kind is WEB_ADDRESS else value
