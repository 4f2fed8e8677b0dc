"""Parameters that only one service understands, given by the user and passed on as they are."""

from __future__ import annotations

from typing import Any


def with_options(body: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The body of a request with the user's own parameters: they win over ours, and a null takes a field out."""
    if not options:
        return body
    return {field: value for field, value in (body | options).items() if value is not None}
