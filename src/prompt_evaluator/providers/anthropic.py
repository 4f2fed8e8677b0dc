"""Anthropic's messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import BadReplyError
from prompt_evaluator.model import Answer, ToolCall, Usage
from prompt_evaluator.providers.http import HttpReply, decode, encode
from prompt_evaluator.providers.http_provider import HttpProvider
from prompt_evaluator.providers.limit_headers import learn_from

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings, Request, Secret
    from prompt_evaluator.providers.call_context import CallContext

_MAX_TOKENS = 4096
"""The API insists on a number; this one is sent when the request names none."""


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


def build(name: str, settings: ProviderSettings, calls: CallContext) -> AnthropicProvider:
    """The factory that the registry names."""
    return AnthropicProvider(name, settings, calls)


class AnthropicProvider(HttpProvider):
    """Messages over HTTP."""

    path = "/v1/messages"
    fixed_headers = {"anthropic-version": "2023-06-01"}  # noqa: RUF012 - a constant of the protocol

    async def _send(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - handed on to the transport
        reply = await self._post(encode(_body(request), self._name), timeout)
        learn_from(reply.headers, self._policy)
        return _answer(decode(reply, _REPLY, self._name), reply, request, self._name)

    def _key_headers(self, key: Secret) -> dict[str, str]:
        return {self._settings.api_key_header or "x-api-key": key.reveal()}


def _body(request: Request) -> dict[str, Any]:
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens or _MAX_TOKENS,
        "messages": [
            {"role": message.role, "content": message.content}
            for message in request.messages
            if message.role != "system"
        ],
    }
    if system:
        body["system"] = system
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body | request.options


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
