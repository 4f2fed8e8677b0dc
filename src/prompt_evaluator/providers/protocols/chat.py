"""OpenAI's chat completions, which most services speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import BadReplyError
from prompt_evaluator.model import REDACTOR, Answer, Outcome, TokenChoice, ToolCall, Usage
from prompt_evaluator.model.message import parsed_arguments
from prompt_evaluator.providers.conversation import chat_messages
from prompt_evaluator.providers.http import encode, stated_error
from prompt_evaluator.providers.protocols.common import closed, is_closed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prompt_evaluator.model import Message, Request
    from prompt_evaluator.providers.rules import Chosen

PATH = "/chat/completions"
CONTENT = ("model", "messages", "tools", "response_format")
"""Fields that are not parameters."""
_SHOWN = 300
_MOST_SHARED = 32
NOT_HERE: tuple[str, ...] = ()
_OUTCOMES: Mapping[str, Outcome] = {
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filtered",
    "refusal": "refused",
    "stop": "stop",
    "eos": "stop",
}


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: str | dict[str, Any] | None = None


class _ToolCall(msgspec.Struct, gc=False):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Alternative(msgspec.Struct, gc=False):
    token: str
    logprob: float


class _Token(_Alternative, gc=False):
    top_logprobs: list[_Alternative] = []


class _Logprobs(msgspec.Struct, gc=False):
    content: list[_Token] | None = None


class _Choice(msgspec.Struct, gc=False):
    message: _Message | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None
    error: Any = None


class _InputDetails(msgspec.Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(msgspec.Struct, gc=False):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's name for what was read from its cache."""
    cost: float | None = None
    """US dollars, from OpenRouter."""


class Completion(msgspec.Struct, gc=False):
    """A reply."""

    choices: list[_Choice] = []
    model: str | None = None
    usage: _Usage | None = None
    error: Any = None


DECODER = msgspec.json.Decoder(Completion)


class SharedParts:
    """System messages and schemas by `id`, encoded once: a run uses the same objects in every request."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._known: dict[int, tuple[object, msgspec.Raw]] = {}
        """With the object itself, so that no other object gets its `id`."""

    def encoded(self, part: Message | dict[str, Any]) -> msgspec.Raw:
        """Raises `RequestRefusedError` if the part cannot be encoded."""
        if (known := self._known.get(id(part))) is None:
            if len(self._known) >= _MOST_SHARED:
                self._known.clear()
            known = self._known[id(part)] = (part, msgspec.Raw(encode(part, self._provider)))
        return known[1]

    def once(self, part: dict[str, Any], write: Callable[[dict[str, Any]], Any]) -> msgspec.Raw:
        """What `write` makes of a part, encoded."""
        if (known := self._known.get(id(part))) is None:
            known = self._known[id(part)] = (part, msgspec.Raw(encode(write(part), self._provider)))
        return known[1]


def body(
    request: Request, chosen: Chosen, fields: Mapping[str, str], shared: SharedParts, provider: str
) -> dict[str, Any]:
    """Write a request.

    Args:
        request: What to ask.
        chosen: The parameters to send.
        fields: The service's names for parameters.
        shared: Parts of requests that are encoded once.
        provider: For errors.
    """
    messages: Sequence[Any] = chat_messages(request.messages, provider)
    if messages and request.messages[0].role == "system":
        messages = (shared.encoded(request.messages[0]), *messages[1:])
    written: dict[str, Any] = {"model": request.model, "messages": messages}
    for name, value in chosen.parameters.items():
        match name:
            case "schema":
                written["response_format"] = shared.once(value, lambda schema: _response_format(schema, chosen))
            case "logprobs":
                written |= {"logprobs": True, "top_logprobs": value}
            case "effort":
                written[fields.get(name, "reasoning_effort")] = value
            case _:
                written[fields.get(name, name)] = value
    if request.tools:
        written["tools"] = [_tool(tool) for tool in request.tools]
    return written


def _response_format(schema: dict[str, Any], chosen: Chosen) -> dict[str, Any]:
    if chosen.rule.strip_schema:
        schema = closed(schema, strip=True)
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": is_closed(schema)}}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return tool if "function" in tool else {"type": "function", "function": tool}


def answer(found: Completion, request: Request, provider: str) -> Answer:
    """Read a reply. Raises `BadReplyError`, with the usage, if it has no answer."""
    usage = _usage(found.usage)
    if not found.choices or (message := found.choices[0].message) is None:
        error = found.error or (found.choices[0].error if found.choices else None)
        if isinstance(error, dict) and isinstance(code := error.get("code"), int):
            raise stated_error(provider, code, str(error.get("message", "")))
        detail = f"; its error is {REDACTOR.message(repr(error))[:_SHOWN]}" if error else ""
        raise BadReplyError(f"the reply has no choices{detail}.", provider=provider, status=200, usage=usage)
    choice = found.choices[0]
    if message.content is message.refusal is choice.finish_reason is None and not message.tool_calls:
        raise BadReplyError("the reply says nothing, not even why.", provider=provider, status=200, usage=usage)
    calls = tuple(map(_tool_call, message.tool_calls or ()))
    refused = message.refusal is not None
    reason = choice.finish_reason
    outcome: Outcome = "refused" if refused else _OUTCOMES.get(reason or "stop", "other")
    return Answer(
        text=message.refusal or "" if refused else _text(message.content),
        tool_calls=calls,
        finish_reason=reason,
        outcome=msgspec.UNSET if outcome == "stop" else outcome,
        usage=usage,
        latency_ms=0.0,
        model=found.model or request.model,
        logprobs=_logprobs(choice.logprobs),
    )


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content or ""


def _tool_call(call: _ToolCall) -> ToolCall:
    return ToolCall(name=call.function.name, arguments=parsed_arguments(call.function.arguments), id=call.id)


def _usage(found: _Usage | None) -> Usage:
    if found is None:
        return Usage()
    read, made = found.prompt_tokens_details, found.completion_tokens_details
    return Usage(
        input_tokens=found.prompt_tokens,
        output_tokens=found.completion_tokens,
        cached_tokens=(read.cached_tokens if read else None) or found.prompt_cache_hit_tokens or 0,
        cache_write_tokens=(read.cache_write_tokens if read else None) or 0,
        reasoning_tokens=made.reasoning_tokens if made else None,
        stated_cost=found.cost,
    )


def _logprobs(found: _Logprobs | None) -> tuple[TokenChoice, ...] | None:
    if found is None or found.content is None:
        return None
    return tuple(
        TokenChoice(
            token=token.token, logprob=token.logprob, top={other.token: other.logprob for other in token.top_logprobs}
        )
        for token in found.content
    )
