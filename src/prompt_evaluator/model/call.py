"""One answer asked of one model, and the answer."""

from __future__ import annotations

from typing import Any

import msgspec

from prompt_evaluator.model.case import TestCase
from prompt_evaluator.model.message import Message, ToolCall


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked. Every field but the last is part of what names a generation."""

    model: str
    """The model's name as its service knows it, without the provider."""
    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    tools: tuple[dict[str, Any], ...] = ()
    """Function schemas: `{name, description, parameters}`, or the same inside `{type: function, function: …}`."""
    response_schema: dict[str, Any] | None = None
    """A JSON schema that the answer has to follow, where the service can promise that."""
    top_logprobs: int | None = None
    """How many alternatives to return with each token, where the service does that."""
    sample: int = 0
    attempt: int = 0
    """One more answer asked for because the last was bad. Not to be confused with a try, one request of a call."""
    options: dict[str, Any] = {}
    """What only this provider understands, such as the router's configuration entry."""
    case: TestCase | None = None
    """What the question is about. It names nothing, and no service is sent it: only the offline provider looks at it,
    and functions and programs under test may be told of it."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens, as the service counted them. Unknown is None, never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class TokenChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One token of an answer, and what else might have stood there."""

    token: str
    logprob: float
    top: dict[str, float] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    """In the service's own words, such as `stop`, `length` or `tool_calls`."""
    usage: Usage = Usage()
    cost: float | None = None
    """US dollars; None where the price or the usage is not known."""
    latency_ms: float
    """Of the try that succeeded, by a monotonic clock."""
    model: str
    """The model that really answered, which may not be the one that was asked."""
    tries: int = 1
    time_outs: int | msgspec.UnsetType = msgspec.UNSET
    """Of the tries before, those that timed out: they may have been paid for, and are not in `cost`. Unset for none,
    because answers as they are stored give names to judgements, and these are a promise."""
    logprobs: tuple[TokenChoice, ...] | None = None
    synthetic: bool = False
    """Made up offline: never to be taken for a real result."""
