"""One turn of a conversation."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function the model wants called."""

    name: str
    arguments: dict[str, Any] | str
    """Parsed, or the raw text if it is not a JSON object."""
    id: str | None = None


class Message(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One turn of a conversation."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """The assistant's calls in this turn."""
    tool_call_id: str | None = None
    """For a tool's turn, the call it answers."""


def parsed_arguments(arguments: str | dict[str, Any] | None) -> dict[str, Any] | str:
    """Return the arguments as a dict, or as raw text if the model did not write a JSON object."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        found = msgspec.json.decode(arguments or "{}")
    except (msgspec.MsgspecError, RecursionError):
        return arguments
    return found if isinstance(found, dict) else arguments
