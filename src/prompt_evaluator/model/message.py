"""One turn of a conversation."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A function the model wants called."""

    name: str
    arguments: dict[str, Any] | str
    """Parsed, or the raw text where it is not a JSON object."""
    id: str | None = None


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn of a conversation."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """What the assistant called in this turn."""
    tool_call_id: str | None = None
    """Which call a tool's turn answers."""
