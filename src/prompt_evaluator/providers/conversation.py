"""A conversation with tool calls, as services want it written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.providers.transport.http import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model import Message, ToolCall


def with_call_ids(messages: Iterable[Message]) -> list[Message]:
    """Every call with an id, and every tool's turn with the id of the call it answers.

    Services insist on both, but people who write a conversation down often leave them out: results then belong to the
    calls before them, in order. A result that no call asked for stays without an id, for the service to refuse.
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
    """The messages in the shape of OpenAI's chat completions.

    Plain turns already encode to that shape, so a request without tool calls pays for no copy.
    """
    for message in messages:  # every call passes here: `any` with a generator takes four times as long
        if message.tool_calls or message.role == "tool":
            return [_chat_message(turn, provider) for turn in with_call_ids(messages)]
    return messages


def written_arguments(call: ToolCall, provider: str) -> str:
    """The arguments of a call as JSON text."""
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
