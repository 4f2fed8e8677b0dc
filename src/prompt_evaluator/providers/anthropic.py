"""Anthropic's messages API."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import BadReplyError, RequestRefusedError
from prompt_evaluator.model import Answer, ToolCall, Usage
from prompt_evaluator.providers.calls.limit_headers import report_limits
from prompt_evaluator.providers.conversation import with_call_ids
from prompt_evaluator.providers.http import HttpReply, decode, encode
from prompt_evaluator.providers.http_provider import HttpProvider
from prompt_evaluator.providers.request_options import with_options
from prompt_evaluator.providers.tool_arguments import parsed_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model import Message, ProviderSettings, Request, Secret
    from prompt_evaluator.providers.calls.shared import Resources

_MAX_TOKENS = 4096
"""Sent if the request sets no limit, because the API requires one."""


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Reply(msgspec.Struct):
    content: list[_Block] = []
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


_REPLY = msgspec.json.Decoder(_Reply)


def build(name: str, settings: ProviderSettings, resources: Resources) -> AnthropicProvider:
    """Factory named in `catalogue.KINDS`."""
    return AnthropicProvider(name, settings, resources)


class AnthropicProvider(HttpProvider):
    """Messages over HTTP."""

    path = "/v1/messages"
    fixed_headers = {"anthropic-version": "2023-06-01"}  # noqa: RUF012 - a constant of the protocol

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - passed to the transport
        reply = await self._post(encode(_body(request, self._name), self._name), timeout)
        report_limits(reply.headers, self.on_limits)
        return _answer(decode(reply, _REPLY, self._name), reply, request, self._name)

    def _key_headers(self, key: Secret) -> dict[str, str]:
        return {self._settings.api_key_header or "x-api-key": key.reveal()}


def _body(request: Request, provider: str) -> dict[str, Any]:
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens or _MAX_TOKENS,
        "messages": _turns(request.messages, provider),
    }
    if system:
        body["system"] = system
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return with_options(body, request.options)


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


def _answer(found: _Reply, reply: HttpReply, request: Request, provider: str) -> Answer:
    calls = tuple(
        ToolCall(name=block.name, arguments=block.input or {}, id=block.id)
        for block in found.content
        if block.type == "tool_use" and block.name
    )
    texts = [block.text for block in found.content if block.type == "text" and block.text is not None]
    if not texts and not calls:
        reason = found.stop_reason or "none given"
        raise BadReplyError(
            f"the reply has neither text nor tool calls (stop reason: {reason}).", provider=provider, status=200
        )
    return Answer(
        text="".join(texts),
        tool_calls=calls,
        finish_reason=found.stop_reason,
        usage=_usage(found.usage),
        latency_ms=reply.latency_ms,
        model=found.model or request.model,
    )


def _usage(found: _Usage | None) -> Usage:
    if found is None or found.input_tokens is None:
        return Usage(output_tokens=found.output_tokens if found else None)
    cached = (found.cache_creation_input_tokens or 0) + (found.cache_read_input_tokens or 0)
    return Usage(input_tokens=found.input_tokens + cached, output_tokens=found.output_tokens)
