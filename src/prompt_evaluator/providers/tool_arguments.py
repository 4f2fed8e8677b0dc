"""Tool-call arguments, which models write as text."""

from __future__ import annotations

from typing import Any

import msgspec


def parsed_arguments(arguments: str | dict[str, Any] | None) -> dict[str, Any] | str:
    """Return the arguments as a dict, or as raw text if the model did not write a JSON object."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        found = msgspec.json.decode(arguments or "{}")
    except (msgspec.MsgspecError, RecursionError):
        return arguments
    return found if isinstance(found, dict) else arguments
