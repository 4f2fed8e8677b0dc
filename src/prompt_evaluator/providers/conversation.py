"""Conversations with tool calls, in the form that services expect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.providers.http import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model import Message, ToolCall


def with_call_ids(messages: Iterable[Message]) -> list[Message]:
    """Give every tool call an id, and every tool message the id of the call it answers.

    Services require both, but hand-written conversations often omit them. Missing ids are matched in order: each result
    answers the next open call before it. A result without a matching call gets no id, and the service will refuse it.
    """
    turns: list[Message] = []
    unanswered: list[str] = []
    numbered = 0
    for message in messages:
        turn = message
        if message.tool_calls:
            calls = tuple(_with_id(call, numbered + at) for at, call in enumerate(message.tool_calls, start=1))
            numbered += len(calls)
            unanswered = [call.id for call in calls if call.id]
            turn = msgspec.structs.replace(message, tool_calls=calls)
        elif message.role == "tool":
            answered = message.tool_call_id or next(iter(unanswered), None)
            unanswered = [call_id for call_id in unanswered if call_id != answered]
            turn = msgspec.structs.replace(message, tool_call_id=answered)
        turns.append(turn)
    return turns


def chat_messages(messages: tuple[Message, ...], provider: str) -> Sequence[Message | dict[str, Any]]:
    """Convert messages to OpenAI's chat completions format.

    Messages without tool calls already encode to that format, so a plain conversation is returned without a copy.
    """
    for message in messages:  # on the path of every call: `any` with a generator takes four times as long
        if message.tool_calls or message.role == "tool":
            return [_chat_message(turn, provider) for turn in with_call_ids(messages)]
    return messages


def written_arguments(call: ToolCall, provider: str) -> str:
    """Return a tool call's arguments as JSON text."""
    return call.arguments if isinstance(call.arguments, str) else encode(call.arguments, provider).decode()


def _with_id(call: ToolCall, number: int) -> ToolCall:
    return call if call.id else msgspec.structs.replace(call, id=f"unnamed_call_{number}")


def _chat_message(message: Message, provider: str) -> Message | dict[str, Any]:
    if not message.tool_calls:
        return message
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": written_arguments(call, provider)},
        }
        for call in message.tool_calls
    ]
    return {"role": message.role, "content": message.content or None, "tool_calls": calls}
