"""A free model that needs no network: it makes up answers and judgements and, if configured, simulates faults."""

from __future__ import annotations

import asyncio
import time
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import msgspec
from msgspec import Meta

from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    ConfigurationError,
    ConnectionFailedError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    RequestRefusedError,
    TimedOutError,
    UnavailableError,
    UnknownNameError,
)
from prompt_evaluator.model import Answer, ToolCall, Usage, bounds
from prompt_evaluator.model.storable import storable_text
from prompt_evaluator.providers.mock.answers import write
from prompt_evaluator.providers.mock.judge import judgement, prose
from prompt_evaluator.providers.mock.logprobs import logprobs
from prompt_evaluator.providers.mock.tools import tool_calls
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings, Request
    from prompt_evaluator.providers.opened import Resources

_CHARACTERS_PER_TOKEN = 4
_LONGEST_STALL = 1.0
"""Simulated time-outs shorter than this are really waited for; longer ones are raised immediately."""
SIMULATED_LATENCY = "simulated_latency_ms"
"""A parameter of requests: report a made-up latency, about this long, instead of the time that passed."""
SIMULATED_QUALITY = "simulated_quality"
"""A parameter of requests, instead of the option `quality`."""
_VARIES_WHEN_COLD = 13
"""How many of 256 samples at temperature 0 differ from the others, because real services are not fully repeatable."""

Rate = Annotated[float, bounds.SHARE.meta]


class MockOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `options:` of a mock provider."""

    latency_ms: Annotated[float, bounds.SIMULATED_MS.meta] = 0.0
    latency_jitter: Rate = 0.0
    """Largest share by which a latency is longer or shorter."""
    faults: dict[str, Rate] = {}
    """Share of tries that fail, by kind of fault."""
    fault_seed: Annotated[int, bounds.SEED.meta] = 0
    """A different seed makes different tries fail."""
    retry_after_s: Annotated[float, Meta(ge=0, le=3_600)] = 0.05
    """Seconds that a simulated rate limit asks to wait."""
    quality: Rate = 0.88
    """Share of answers that meet what their case asks for."""
    bad_judge: Rate = 0.0
    """Share of judge replies that are prose instead of JSON."""


class _Fault(NamedTuple):
    error: type[ProviderError]
    sentence: str
    status: int | None = None


FAULTS = {
    "rate_limited": _Fault(RateLimitedError, "Too many requests.", 429),
    "unavailable": _Fault(UnavailableError, "The service is overloaded.", 503),
    "connection": _Fault(ConnectionFailedError, "The connection was reset."),
    "timeout": _Fault(TimedOutError, "No reply in time."),
    "bad_reply": _Fault(BadReplyError, "The reply is not JSON.", 200),
    "refused": _Fault(RequestRefusedError, "The request is not acceptable.", 400),
    "authentication": _Fault(AuthenticationError, "The key is not valid.", 401),
    "quota": _Fault(QuotaExhaustedError, "The quota is used up.", 429),
}


def build(name: str, settings: ProviderSettings, _resources: Resources) -> MockProvider:
    return MockProvider(name, options_from(settings))


def options_from(settings: ProviderSettings) -> MockOptions:
    """Return the checked options.

    Raises:
        ConfigurationError: An option or fault is unknown, or a value is not allowed.
    """
    for key in settings.options:
        if key not in MockOptions.__struct_fields__:
            raise UnknownNameError("mock option", str(key), MockOptions.__struct_fields__)
    if wrong := bounds.out_of_bounds(MockOptions, settings.options):
        option, bound, value = wrong
        what = f"The option `{option}` of the mock provider has to be {bound.words}, not {described(value)}"
        raise ConfigurationError(f"{what}. Correct it or leave it out.")
    try:
        options = msgspec.convert(settings.options, MockOptions)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"An option of the mock provider is wrong: {error}.") from error
    for kind in options.faults:
        if kind not in FAULTS:
            raise UnknownNameError("mock fault", kind, FAULTS)
    if (total := sum(options.faults.values())) > 1:
        raise ConfigurationError(
            f"The rates of the mock provider's faults add up to {total:g}. A try fails in one way only: stay below 1."
        )
    return options


class MockProvider:
    """Answers depend only on content, model, temperature, seed, sample and attempt, and are marked as synthetic."""

    trusted: ClassVar[bool] = True

    def __init__(self, name: str, options: MockOptions) -> None:
        self._name, self._options = name, options

    @property
    def name(self) -> str:
        return self._name

    async def close(self) -> None:
        """Do nothing."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - enforced here
        started = time.perf_counter()
        source, typical = _Source(request), self._simulated(request, SIMULATED_LATENCY, bounds.SIMULATED_MS)
        await self._wait_or_fail(source, request.tries, timeout)
        text, calls = self._reply(request, source)
        text = storable_text(text)  # it may repeat what the case says
        finish = "tool_calls" if calls else "stop"
        most = None if request.max_tokens is None else request.max_tokens * _CHARACTERS_PER_TOKEN
        if most is not None and len(text) > most:
            text, finish = text[:most], "length"
        return Answer(
            text=text,
            tool_calls=calls,
            finish_reason=finish,
            usage=_usage(request, text, calls),
            cost=0.0,
            latency_ms=(time.perf_counter() - started) * 1_000 if typical is None else source.latency(typical),
            model=request.model or "default",
            logprobs=None
            if request.top_logprobs is None
            else logprobs(text, request.top_logprobs, source.rng("logprobs")),
            synthetic=True,
        )

    async def _wait_or_fail(self, source: _Source, tries: int, limit: float) -> None:
        """Wait for the simulated latency, then raise this try's fault, if any."""
        options = self._options
        seconds, kind = options.latency_ms / 1_000, None
        if options.faults or options.latency_jitter:
            weather = source.rng("weather", options.fault_seed, tries)
            kind = _drawn(options.faults, weather.random())
            seconds *= 1 + options.latency_jitter * weather.uniform(-1, 1)
        if kind == "timeout":
            seconds = limit if limit < _LONGEST_STALL else 0.0
        elif seconds > limit:
            seconds, kind = limit, "timeout"
        await asyncio.sleep(seconds)
        if kind is not None:
            fault = FAULTS[kind]
            after = options.retry_after_s if kind == "rate_limited" else None
            sentence = f"{fault.sentence} (simulated)"
            raise fault.error(sentence, provider=self._name, status=fault.status, retry_after=after)

    def _simulated(self, request: Request, name: str, bound: bounds.Bound) -> float | None:
        """Return a parameter of the request that says what to simulate."""
        if (value := request.options.get(name)) is None:
            return None
        try:
            return bound.read(value)
        except ValueError:
            what = f"`{name}` has to be {bound.words}, not {described(value)}."
            raise RequestRefusedError(what, provider=self._name) from None

    def _reply(self, request: Request, source: _Source) -> tuple[str, tuple[ToolCall, ...]]:
        if request.response_schema is not None:
            varied = source.rng("judge", request.sample)
            if varied.random() < self._options.bad_judge:
                return prose(varied), ()
            return judgement(request, source.opinion(), varied), ()
        rng = source.rng("answer", source.effective_sample())
        asked = self._simulated(request, SIMULATED_QUALITY, bounds.SHARE)
        quality = self._options.quality if asked is None else asked
        good = rng.random() < 1 - (1 - quality) ** (request.attempt + 1)
        return write(request, rng, good=good), tool_calls(request, rng, good=good) if request.tools else ()


class _Source:
    """Random generators of one request, seeded only with its content."""

    def __init__(self, request: Request) -> None:
        self._request = request
        text = blake2b(request.model.encode(), digest_size=8)
        for message in request.messages:
            content = message.content.encode("utf-8", "surrogatepass")
            text.update(b"%s %d " % (message.role.encode(), len(content)))
            text.update(content)
            if message.tool_calls:
                text.update(repr(message.tool_calls).encode("utf-8", "surrogatepass"))
        self._text = text

    def rng(self, purpose: str, *more: int) -> Random:
        asked = self._request
        heat = None if asked.temperature is None else float(asked.temperature)
        return _random(self._digest(purpose, heat, asked.seed, asked.attempt, *more))

    def opinion(self) -> Random:
        """Independent of seed, sample and temperature: a judge does not change its mind about a text."""
        return _random(self._text.digest())

    def latency(self, typical: float) -> float:
        """Make up a latency in milliseconds. Some models are slower than others, and some answers take longer."""
        speed = _random(blake2b(self._request.model.encode(), digest_size=8).digest()).uniform(0.75, 1.25)
        return round(typical * speed * self.rng("latency", self._request.sample).lognormvariate(0, 0.3), 1)

    def effective_sample(self) -> int:
        """Return the sample's number, or 0 for nearly all samples at temperature 0, which makes them equal."""
        asked = self._request
        if asked.temperature != 0 or self._digest("cold", asked.seed, asked.sample)[0] < _VARIES_WHEN_COLD:
            return asked.sample
        return 0

    def _digest(self, *parts: object) -> bytes:
        digest = self._text.copy()
        digest.update(repr(parts).encode())
        return digest.digest()


def _random(digest: bytes) -> Random:
    return Random(int.from_bytes(digest, "big"))  # noqa: S311 - only for made-up answers


def _drawn(rates: dict[str, float], share: float) -> str | None:
    """Return the fault whose part of the interval 0 to 1 contains `share`."""
    for kind, rate in rates.items():
        if share < rate:
            return kind
        share -= rate
    return None


def _usage(request: Request, text: str, calls: tuple[ToolCall, ...]) -> Usage:
    """Estimate the tokens from the length of the texts."""
    asked = sum(len(message.content) for message in request.messages)
    before = [call for message in request.messages for call in message.tool_calls]
    asked += sum(len(call.name) + len(str(call.arguments)) for call in before)
    asked += len(msgspec.json.encode(request.tools)) if request.tools else 0
    made = len(text) + sum(len(call.name) + len(msgspec.json.encode(call.arguments)) for call in calls)
    return Usage(input_tokens=_tokens(asked), output_tokens=_tokens(made))


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
