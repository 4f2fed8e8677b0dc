"""OpenAI's Responses, the only protocol in which its reasoning models take tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import BadReplyError
from prompt_evaluator.model import Answer, Outcome, TokenChoice, ToolCall, Usage
from prompt_evaluator.model.message import parsed_arguments
from prompt_evaluator.providers.conversation import with_call_ids, written_arguments
from prompt_evaluator.providers.protocols.common import closed, is_closed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prompt_evaluator.model import Message, Request
    from prompt_evaluator.providers.rules import Chosen

PATH = "/responses"
CONTENT = ("model", "input", "tools")
"""Fields that are not parameters."""
NOT_HERE = ("seed", "stop", "n", "presence_penalty", "frequency_penalty", "logit_bias")
"""Parameters of chat completions that this protocol does not have."""
_LEAST_TOKENS = 16
_INCOMPLETE: Mapping[str, Outcome] = {"max_output_tokens": "length", "content_filter": "filtered"}


class _Alternative(msgspec.Struct, gc=False):
    token: str
    logprob: float


class _Token(_Alternative, gc=False):
    top_logprobs: list[_Alternative] = []


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    refusal: str | None = None
    logprobs: list[_Token] | None = None


class _Item(msgspec.Struct, gc=False):
    type: str
    content: list[_Part] | None = None
    phase: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _InputDetails(msgspec.Struct, gc=False):
    cached_tokens: int = 0
    cache_write_tokens: int = 0


class _OutputDetails(msgspec.Struct, gc=False):
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class _Error(msgspec.Struct, gc=False):
    code: str | None = None
    message: str | None = None


class Response(msgspec.Struct, gc=False):
    """A reply."""

    status: str | None = None
    output: list[_Item] = []
    incomplete_details: _Incomplete | None = None
    error: _Error | None = None
    model: str | None = None
    usage: _Usage | None = None


DECODER = msgspec.json.Decoder(Response)


def body(request: Request, chosen: Chosen, provider: str) -> dict[str, Any]:
    """Write a request. The service is told to keep nothing."""
    items = list(_items(request.messages, provider))
    written: dict[str, Any] = {"model": request.model, "input": items, "store": False}
    for name, value in chosen.parameters.items():
        match name:
            case "max_tokens":
                written["max_output_tokens"] = max(value, _LEAST_TOKENS)
            case "effort":
                written["reasoning"] = written.get("reasoning", {}) | {"effort": value}
            case "verbosity":
                written["text"] = written.get("text", {}) | {"verbosity": value}
            case "schema":
                written["text"] = written.get("text", {}) | {"format": _format(value, chosen)}
            case "logprobs":
                written |= {"top_logprobs": value, "include": ["message.output_text.logprobs"]}
            case _:
                written[name] = value
    if request.tools:
        written["tools"] = [_tool(tool) for tool in request.tools]
    return written


def _format(schema: dict[str, Any], chosen: Chosen) -> dict[str, Any]:
    if chosen.rule.strip_schema:
        schema = closed(schema, strip=True)
    return {"type": "json_schema", "name": "answer", "schema": schema, "strict": is_closed(schema)}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool.get("function", tool)
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    strict = bool(function.get("strict"))
    return {"type": "function", "strict": strict, **function, "parameters": parameters}


def _items(messages: Iterable[Message], provider: str) -> Iterator[dict[str, Any]]:
    for message in with_call_ids(messages):
        if message.role == "tool":
            yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}
            continue
        if message.content or not message.tool_calls:
            yield {"role": message.role, "content": message.content}
        for call in message.tool_calls:
            arguments = written_arguments(call, provider)
            yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}


def answer(found: Response, request: Request, provider: str) -> Answer:
    """Read a reply. Raises `BadReplyError`, with the usage, if it has no answer."""
    usage = _usage(found.usage)
    if found.status in ("failed", "cancelled"):
        said = (found.error.message or found.error.code) if found.error else None
        what = f"the response has failed: {said or 'no reason'}."
        raise BadReplyError(what, provider=provider, status=200, usage=usage)
    parts = list(_parts(found.output))
    refusals = [part.refusal for part in parts if part.refusal is not None]
    calls = tuple(
        ToolCall(name=item.name, arguments=parsed_arguments(item.arguments), id=item.call_id)
        for item in found.output
        if item.type == "function_call" and item.name
    )
    reason = found.incomplete_details.reason if found.incomplete_details else None
    outcome: Outcome = "stop"
    if refusals:
        outcome = "refused"
    elif found.status == "incomplete":
        outcome = _INCOMPLETE.get(reason or "", "other")
    elif calls:
        outcome = "tool_calls"
    return Answer(
        text="".join(refusals or [part.text for part in parts if part.text is not None]),
        tool_calls=calls,
        finish_reason=reason or ("stop" if found.status == "completed" else found.status),
        outcome=msgspec.UNSET if outcome == "stop" else outcome,
        usage=usage,
        latency_ms=0.0,
        model=found.model or request.model,
        logprobs=_logprobs(parts),
    )


def _parts(output: list[_Item]) -> Iterator[_Part]:
    """The parts of the final answer; a commentary on the way to it is not part of it."""
    messages = [item for item in output if item.type == "message"]
    final = [item for item in messages if item.phase == "final_answer"] or messages
    for item in final:
        yield from item.content or ()


def _usage(found: _Usage | None) -> Usage:
    if found is None:
        return Usage()
    read, made = found.input_tokens_details or _InputDetails(), found.output_tokens_details
    return Usage(
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
        cached_tokens=read.cached_tokens,
        cache_write_tokens=read.cache_write_tokens,
        reasoning_tokens=made.reasoning_tokens if made else None,
    )


def _logprobs(parts: list[_Part]) -> tuple[TokenChoice, ...] | None:
    tokens = [token for part in parts for token in part.logprobs or ()]
    if not tokens:
        return None
    return tuple(
        TokenChoice(
            token=token.token, logprob=token.logprob, top={other.token: other.logprob for other in token.top_logprobs}
        )
        for token in tokens
    )
