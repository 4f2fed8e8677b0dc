"""Anthropic's messages."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import BadReplyError, RequestRefusedError
from prompt_evaluator.model import Answer, Outcome, ToolCall, Usage
from prompt_evaluator.model.message import parsed_arguments
from prompt_evaluator.providers.conversation import with_call_ids
from prompt_evaluator.providers.protocols.common import closed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prompt_evaluator.model import Message, Request, Rule
    from prompt_evaluator.providers.rules import Chosen

PATH = "/v1/messages"
VERSION = "2023-06-01"
"""Sent unless the entry's headers name another: newer versions take no temperature at all."""
CONTENT = ("model", "messages", "system", "tools")
"""Fields that are not parameters."""
NOT_HERE = ("seed", "logprobs", "presence_penalty", "frequency_penalty", "logit_bias", "n")
"""Parameters of other protocols that this one does not have."""
_MAX_TOKENS, _MAX_TOKENS_THINKING = 16_384, 32_000
"""Sent if no limit is set, because the protocol requires one. Thinking counts against it."""
_CACHED = {"type": "ephemeral"}
_CHARACTERS_PER_TOKEN = 4
_OUTCOMES: Mapping[str, Outcome] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "tool_use": "tool_calls",
    "pause_turn": "paused",
    "refusal": "refused",
}


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None


class _OutputDetails(msgspec.Struct):
    thinking_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None


class _StopDetails(msgspec.Struct):
    category: str | None = None


class Reply(msgspec.Struct):
    """A reply."""

    content: list[_Block] | None = None
    model: str | None = None
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None
    usage: _Usage | None = None


DECODER = msgspec.json.Decoder(Reply)


def default_max_tokens(rule: Rule, effort: str | None) -> int:
    thinks = rule.thinks == "always" or (effort or rule.thinks or "none") != "none"
    most = _MAX_TOKENS_THINKING if thinks else _MAX_TOKENS
    return min(most, rule.cap.get("max_tokens", most))


def body(request: Request, chosen: Chosen, provider: str, *, cache: bool) -> dict[str, Any]:
    """Write a request.

    Args:
        request: What to ask.
        chosen: The parameters to send.
        provider: For errors.
        cache: Whether the service should keep the instructions, because they will be sent again.
    """
    parameters = chosen.parameters
    written: dict[str, Any] = {
        "model": request.model,
        "max_tokens": default_max_tokens(chosen.rule, parameters.get("effort")),
        "messages": _turns(request.messages, provider),
    }
    if system := system_text(request):
        written["system"] = [{"type": "text", "text": system, "cache_control": _CACHED}] if cache else system
    for name, value in parameters.items():
        match name:
            case "effort" if value == "none":
                written |= {"thinking": chosen.rule.no_thinking} if chosen.rule.no_thinking else {}
            case "effort":
                written["output_config"] = written.get("output_config", {}) | {"effort": value}
            case "schema":
                schema = {"type": "json_schema", "schema": closed(value, strip=True)}
                written["output_config"] = written.get("output_config", {}) | {"format": schema}
            case "stop":
                written["stop_sequences"] = [value] if isinstance(value, str) else value
            case _:
                written[name] = value
    if request.tools:
        written["tools"] = [_tool(tool) for tool in request.tools]
    return written


def system_text(request: Request) -> str:
    return "\n\n".join(message.content for message in request.messages if message.role == "system")


def can_be_cached(system: str, rule: Rule) -> bool:
    """Whether the service keeps instructions of this length; shorter ones it ignores without a word."""
    return rule.cache_from is not None and len(system) >= rule.cache_from * _CHARACTERS_PER_TOKEN


def _turns(messages: Iterable[Message], provider: str) -> list[dict[str, Any]]:
    """Group messages into alternating user and assistant turns; tool results belong to the user's turn."""
    spoken = (message for message in with_call_ids(messages) if message.role != "system")
    turns = groupby(spoken, key=lambda message: "assistant" if message.role == "assistant" else "user")
    return [{"role": role, "content": _content(list(group), provider)} for role, group in turns]


def _content(messages: list[Message], provider: str) -> str | list[dict[str, Any]]:
    """Return plain text if that is enough, else blocks: tool results first and no empty text, as the API requires."""
    first = messages[0]
    if len(messages) == 1 and first.role != "tool" and not first.tool_calls:
        return first.content
    blocks = [block for message in messages for block in _blocks(message, provider)]
    return sorted(blocks, key=lambda block: block["type"] != "tool_result")


def _blocks(message: Message, provider: str) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content else []
    for call in message.tool_calls:
        arguments = parsed_arguments(call.arguments)
        if isinstance(arguments, str):
            sentence = f"the arguments of a call to {call.name!r} in the conversation are not a JSON object."
            raise RequestRefusedError(sentence, provider=provider)
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments})
    return blocks


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function", tool)
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function["name"], "description": function.get("description", ""), "input_schema": schema}


def answer(found: Reply, request: Request, provider: str) -> Answer:
    """Read a reply. Raises `BadReplyError`, with the usage, if it has no answer."""
    usage = _usage(found.usage)
    if not found.content and found.stop_reason is None:
        raise BadReplyError("the reply says nothing, not even why.", provider=provider, status=200, usage=usage)
    content = found.content or []
    calls = tuple(
        ToolCall(name=block.name, arguments=block.input or {}, id=block.id)
        for block in content
        if block.type == "tool_use" and block.name
    )
    outcome = _OUTCOMES.get(found.stop_reason or "end_turn", "other")
    category = found.stop_details.category if found.stop_details else None
    return Answer(
        text="".join(block.text for block in content if block.type == "text" and block.text is not None),
        tool_calls=calls,
        finish_reason=found.stop_reason,
        outcome=msgspec.UNSET if outcome == "stop" else outcome,
        refusal=category or msgspec.UNSET if outcome == "refused" else msgspec.UNSET,
        usage=usage,
        latency_ms=0.0,
        model=found.model or request.model,
    )


def _usage(found: _Usage | None) -> Usage:
    if found is None or found.input_tokens is None:
        return Usage(output_tokens=found.output_tokens if found else None)
    read, written = found.cache_read_input_tokens or 0, found.cache_creation_input_tokens or 0
    return Usage(
        input_tokens=found.input_tokens + read + written,
        output_tokens=found.output_tokens,
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=found.output_tokens_details.thinking_tokens if found.output_tokens_details else None,
    )
