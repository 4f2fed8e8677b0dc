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
