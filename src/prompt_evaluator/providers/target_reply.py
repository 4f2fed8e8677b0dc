"""Strict parsing of replies from programs and functions under test."""

from __future__ import annotations

from typing import Annotated

import msgspec

from prompt_evaluator.model import Answer, Request, TokenChoice, ToolCall, Usage
from prompt_evaluator.model.message import parsed_arguments
from prompt_evaluator.model.storable import decode_answer


class TargetReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a program prints, and what a function may return instead of text. Unknown fields are ignored."""

    text: str | None = None
    output: str | None = None
    """Alias of `text`."""
    tool_calls: tuple[ToolCall, ...] | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    cost: Annotated[float, msgspec.Meta(ge=0)] | None = None
    model: str | None = None
    logprobs: tuple[TokenChoice, ...] | None = None
    synthetic: bool = False


_REPLY = msgspec.json.Decoder(TargetReply)


def last_user_text(request: Request) -> str:
    """Text of the last user message, or an empty string if there is none."""
    return next((message.content for message in reversed(request.messages) if message.role == "user"), "")


def read_reply(data: bytes) -> TargetReply:
    """Parse a reply. Raises `ValueError` with a sentence fragment if `data` is not one."""
    try:
        reply = decode_answer(data, _REPLY)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if reply.text is None and reply.output is None and not reply.tool_calls:
        raise ValueError("there is no `text` (or `output`)")
    counts = (reply.usage.input_tokens, reply.usage.output_tokens) if reply.usage else ()
    if any(count is not None and count < 0 for count in counts):
        raise ValueError("`usage` has a negative number of tokens")
    return reply


def answer_of(reply: TargetReply, *, asked: str, seconds: float) -> Answer:
    text = reply.text if reply.text is not None else reply.output
    return Answer(
        text=text or "",
        tool_calls=tuple(map(_parsed, reply.tool_calls or ())),
        finish_reason=reply.finish_reason,
        usage=reply.usage or Usage(),
        cost=reply.cost,
        latency_ms=seconds * 1000,
        model=reply.model or asked,
        logprobs=reply.logprobs,
        synthetic=reply.synthetic,
    )


def _parsed(call: ToolCall) -> ToolCall:
    return msgspec.structs.replace(call, arguments=parsed_arguments(call.arguments))
