"""OpenAI's chat completions API and compatible servers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import BadReplyError, FieldRefusedError, RequestRefusedError
from prompt_evaluator.model import REDACTOR, Answer, TokenChoice, ToolCall, Usage
from prompt_evaluator.providers.calls.limit_headers import report_limits
from prompt_evaluator.providers.conversation import chat_messages
from prompt_evaluator.providers.http import HttpReply, decode, encode
from prompt_evaluator.providers.http_provider import HttpProvider
from prompt_evaluator.providers.request_options import with_options
from prompt_evaluator.providers.shared_parts import SharedParts
from prompt_evaluator.providers.tool_arguments import parsed_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model import ProviderSettings, Request
    from prompt_evaluator.providers.calls.shared import Resources


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
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(msgspec.Struct, gc=False):
    choices: list[_Choice] = []
    model: str | None = None
    usage: _Usage | None = None
    error: Any = None


_COMPLETION = msgspec.json.Decoder(_Completion)

# Fields of the protocol that some services refuse, and how to rewrite the request without them.
_FALLBACKS = {
    "max_completion_tokens": lambda body: {
        **_without(body, "max_completion_tokens"),
        "max_tokens": body["max_completion_tokens"],
    },
    "temperature": lambda body: _without(body, "temperature"),
    "seed": lambda body: _without(body, "seed"),
    "logprobs": lambda body: _without(body, "logprobs", "top_logprobs"),
    "response_format": lambda body: _without(body, "response_format"),
}

_NOT_ACCEPTED = re.compile(
    r"(un|not |n't )support|unrecogni[sz]ed|unknown|unexpected|unavailable|forbidden"
    r"|not (permitted|allowed|enabled|available)|extra inputs|cannot find|deprecated",
    re.IGNORECASE,
)


def build(name: str, settings: ProviderSettings, resources: Resources) -> OpenAIProvider:
    """Factory named in `catalogue.KINDS`."""
    return OpenAIProvider(name, settings, resources)


class OpenAIProvider(HttpProvider):
    """Chat completions over HTTP."""

    path = "/chat/completions"

    def __init__(self, name: str, settings: ProviderSettings, resources: Resources) -> None:
        super().__init__(name, settings, resources)
        self._shared = SharedParts(name)
        self._refused: dict[str, tuple[str, ...]] = {}
        """Maps model to the fields that the service does not accept."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - passed to the transport
        refused = self._refused.get(request.model, ())
        body = _body(request, refused, self._name, self._shared)
        try:
            reply = await self._post(encode(body, self._name), timeout)
        except RequestRefusedError as error:
            if not (field := _refused_field(str(error), body)):
                raise
            # Remembered for the whole run. Concurrent calls may have added other fields meanwhile.
            known = self._refused.get(request.model, ())
            self._refused[request.model] = tuple(dict.fromkeys((*known, field)))
            what = f"{request.model} does not accept {field!r}; retrying without it."
            raise FieldRefusedError(what, provider=self._name, status=error.status) from None
        report_limits(reply.headers, self.on_limits)
        return _answer(decode(reply, _COMPLETION, self._name), reply, request, self._name)


def _body(request: Request, refused: tuple[str, ...], provider: str, shared: SharedParts) -> dict[str, Any]:
    messages: Sequence[Any] = chat_messages(request.messages, provider)
    if messages and request.messages[0].role == "system":
        messages = (shared.encoded(request.messages[0]), *messages[1:])
    body: dict[str, Any] = {"model": request.model, "messages": messages}
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_tokens is not None and "max_tokens" not in request.options:  # the field's older name
        body["max_completion_tokens"] = request.max_tokens
    if request.seed is not None:
        body["seed"] = request.seed
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.response_schema is not None:
        body["response_format"] = _response_format(shared.encoded(request.response_schema))
    if request.top_logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    body = with_options(body, request.options)
    for field in refused:
        if field in body:
            body = _FALLBACKS[field](body)
    return body


def _without(body: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {field: value for field, value in body.items() if field not in fields}


def _refused_field(message: str, body: dict[str, Any]) -> str | None:
    """Return the optional field that the service does not accept, if the error names one.

    An accepted field with a bad value is the caller's mistake, and dropping the field would hide it.
    """
    if not _NOT_ACCEPTED.search(message) or "invalid schema" in message.lower():
        return None
    return next((field for field in _FALLBACKS if field in body and re.search(rf"\b(top_)?{field}\b", message)), None)


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return tool if "function" in tool else {"type": "function", "function": tool}


def _response_format(schema: msgspec.Raw) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def _answer(completion: _Completion, reply: HttpReply, request: Request, provider: str) -> Answer:
    if not completion.choices:
        detail = f"; its error is {REDACTOR.text(repr(completion.error))[:300]}" if completion.error else ""
        raise BadReplyError(f"the reply has no choices{detail}.", provider=provider, status=200)
    choice = completion.choices[0]
    called = choice.message.tool_calls
    calls = tuple(map(_tool_call, called)) if called else ()
    usage = completion.usage or _Usage()
    return Answer(
        text=_text(choice, provider, calls),
        tool_calls=calls,
        finish_reason=choice.finish_reason,
        usage=Usage(input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens),
        latency_ms=reply.latency_ms,
        model=completion.model or request.model,
        logprobs=_logprobs(choice.logprobs),
    )


def _text(choice: _Choice, provider: str, calls: tuple[ToolCall, ...]) -> str:
    content = choice.message.content
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    if content is not None:
        return content
    if choice.message.refusal is not None:
        return choice.message.refusal
    if calls:
        return ""
    reason = choice.finish_reason or "none given"
    raise BadReplyError(
        f"the reply has neither content nor tool calls (finish reason: {reason}).", provider=provider, status=200
    )


def _tool_call(call: _ToolCall) -> ToolCall:
    return ToolCall(name=call.function.name, arguments=parsed_arguments(call.function.arguments), id=call.id)


def _logprobs(found: _Logprobs | None) -> tuple[TokenChoice, ...] | None:
    if found is None or found.content is None:
        return None
    return tuple(
        TokenChoice(
            token=token.token, logprob=token.logprob, top={other.token: other.logprob for other in token.top_logprobs}
        )
        for token in found.content
    )
