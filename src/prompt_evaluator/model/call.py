"""One request to a model, and its answer."""

from __future__ import annotations

from typing import Any

import msgspec

from prompt_evaluator.model.case import TestCase
from prompt_evaluator.model.message import Message, ToolCall


class Request(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is asked. Every field except the last contributes to the generation's name."""

    model: str
    """The model's name at its service, without the provider."""
    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    tools: tuple[dict[str, Any], ...] = ()
    """Function schemas: `{name, description, parameters}`, or the same inside `{type: function, function: …}`."""
    response_schema: dict[str, Any] | None = None
    """A JSON schema for the answer, if the service can enforce one."""
    top_logprobs: int | None = None
    """How many alternatives to return with each token, if the service supports it."""
    sample: int = 0
    attempt: int = 0
    """Above 0 if earlier answers were bad and another is requested. A try, in contrast, is one request of a call."""
    options: dict[str, Any] = {}
    """Provider-specific options, such as the router's configuration entry."""
    case: TestCase | None = None
    """The case in question. It is not part of any name and is never sent to a service: only the offline provider and
    the functions and programs under test see it."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Tokens as counted by the service. Unknown is None, never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class TokenChoice(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One token of an answer, and its alternatives."""

    token: str
    logprob: float
    top: dict[str, float] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A model's answer."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    """As the service reports it, such as `stop`, `length` or `tool_calls`."""
    usage: Usage = Usage()
    cost: float | None = None
    """US dollars; None if the price or the usage is unknown."""
    latency_ms: float
    """Of the successful try, measured with a monotonic clock."""
    model: str
    """The model that actually answered, which may differ from the one requested."""
    tries: int = 1
    time_outs: int | msgspec.UnsetType = msgspec.UNSET
    """How many earlier tries timed out; they may have been billed, and `cost` does not include them. Unset instead of
    0, because judgements are named after the stored answer, and those names must stay the same across versions."""
    logprobs: tuple[TokenChoice, ...] | None = None
    synthetic: bool = False
    """Made up offline; never a real result."""
