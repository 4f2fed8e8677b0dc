"""One request to a model, and its answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from prompt_evaluator.model.case import TestCase
from prompt_evaluator.model.message import Message, ToolCall


class Request(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is asked. Every field except the last three contributes to the generation's name."""

    model: str
    """The model's name at its service, without the provider."""
    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    tools: tuple[dict[str, Any], ...] = ()
    """Function schemas: `{name, description, parameters}`, or the same inside `{type: function, function: …}`."""
    effort: str | None = None
    """How much the model should reason: `none`, `low`, `medium`, `high` or what else it knows."""
    response_schema: dict[str, Any] | None = None
    """A JSON schema for the answer, if the service can enforce one."""
    top_logprobs: int | None = None
    """How many alternatives to return with each token, if the service supports it."""
    sample: int = 0
    attempt: int = 0
    """Above 0 if earlier answers were bad and another is requested. A try, in contrast, is one request of a call."""
    options: dict[str, Any] = {}
    """Provider-specific options, such as the router's configuration entry."""
    strict: bool = False
    """Whether to fail rather than to leave out what the service does not take. Not part of any name."""
    case: TestCase | None = None
    """The case in question. It is not part of any name and is never sent to a service: only the offline provider and
    the functions and programs under test see it."""
    tries: int = 0
    """How many tries of this call have failed. Not part of any name; for the offline provider, whose faults differ
    between tries."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Tokens as counted by the service. Unknown is None, never 0."""

    input_tokens: int | None = None
    """All of the input, whether it was read from a cache, written to one, or neither."""
    output_tokens: int | None = None
    """All of the output, reasoning included."""
    cached_tokens: int = 0
    """The part of the input that was read from the service's cache."""
    cache_write_tokens: int = 0
    """The part of the input that was written to the service's cache."""
    reasoning_tokens: int | None = None
    """The part of the output that is not in the text."""
    stated_cost: float | None = None
    """US dollars, if the service says what it charged."""


class TokenChoice(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One token of an answer, and its alternatives."""

    token: str
    logprob: float
    top: dict[str, float] = {}


Outcome = Literal["stop", "tool_calls", "length", "context", "refused", "filtered", "paused", "other"]
"""How an answer ended: complete, with tool calls, cut by `max_tokens`, cut by the context window, refused by the model,
withheld by the service's filter, paused by a tool of the service, or unknown."""


BY_ITSELF = ("stop", "end_turn", "stop_sequence", "tool_calls", "tool_use", "function_call")
"""What services call the end of an answer that is complete."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A parameter that was asked for and not sent, or sent in another form."""

    field: str
    value: Any = None
    reason: Literal["default", "rule", "learned", "protocol"]
    """It is only our default; the model is known to refuse it; the service has refused it; or the protocol has no such
    field."""
    detail: str = ""


class Sent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What of a request's parameters went to the service."""

    parameters: dict[str, Any] = {}
    """By their names in the protocol; neither messages, tools nor schemas."""
    path: str | None = None
    version: str | None = None
    """The protocol's version, if it has a header for it."""
    left_out: tuple[LeftOut, ...] = ()
    ignored: tuple[str, ...] = ()
    """Parameters that went to the service and are known to have no effect there."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A model's answer. A refusal is one, too."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    """As the service reports it, such as `stop`, `length` or `tool_calls`."""
    outcome: Outcome | msgspec.UnsetType = msgspec.UNSET
    """Unset if it is complete."""
    refusal: str | msgspec.UnsetType = msgspec.UNSET
    """The category of a refusal, if the service states one."""
    sent: Sent | msgspec.UnsetType = msgspec.UNSET
    """Unset for providers without parameters."""
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
