"""Parts of an address that have a slash in them, such as the id of a case: sent as `%2F`, they stay one part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_SLASH = "\ufdd0"
"""Replaces a slash that separates nothing, between here and the route. It is not a character of any text."""


def with_whole_parts(scope: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The same request, for a router that separates at every slash."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower():
        return scope
    parts = raw.partition(b"?")[0].decode("latin-1").split("/")
    return {**scope, "path": "/".join(unquote(part).replace("/", _SLASH) for part in parts)}


def part(value: object) -> str:
    """A part of the address as it was sent."""
    return str(value).replace(_SLASH, "/")
