"""Service-specific parameters from the user, passed through unchanged."""

from __future__ import annotations

from typing import Any


def with_options(body: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Merge the user's parameters into a request body: they override ours, and a null removes a field."""
    if not options:
        return body
    return {field: value for field, value in (body | options).items() if value is not None}
