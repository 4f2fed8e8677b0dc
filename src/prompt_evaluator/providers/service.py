"""A model service over HTTP: picks the protocol, leaves out what a model does not take, learns what it refuses."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from prompt_evaluator.errors import FieldRefusedError, ProviderError, RequestRefusedError
from prompt_evaluator.model import REDACTOR, Answer, Request, Usage
from prompt_evaluator.providers.http import decode, encode
from prompt_evaluator.providers.http_provider import HttpProvider
from prompt_evaluator.providers.presets import service_of
from prompt_evaluator.providers.protocols import anthropic, chat, common, responses
from prompt_evaluator.providers.rules import ALIASES, RuleBook

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from prompt_evaluator.model import ProviderSettings, Secret, Sent
    from prompt_evaluator.providers.http import HttpReply
    from prompt_evaluator.providers.learned import Learned
    from prompt_evaluator.providers.opened import Resources
    from prompt_evaluator.providers.rules import Chosen

Api = Literal["chat", "responses", "messages"]
_PROTOCOLS = {"chat": chat, "responses": responses, "messages": anthropic}
_MOST_LEARNED = 3
"""How many parameters are found out by being refused before a refusal is final."""
_PATIENCE = 10.0
"""Seconds that calls wait for the first one: what a service refuses, it refuses at once."""
_USE_RESPONSES, _RENAME = "use_path", "rename max_tokens"
"""What can be learned beside parameters."""
_SHOWN = 300
_STATED_COST = "x-litellm-response-cost"


class _Way(NamedTuple):
    """How a request is sent."""

    api: Api
    chosen: Chosen
    place: str
    """What is learned is remembered for this address, path, model, version, and whether it reasons."""


def build(name: str, settings: ProviderSettings, resources: Resources) -> ServiceProvider:
    """Factory named in `catalogue.KINDS`."""
    return ServiceProvider(name, settings, resources)


class ServiceProvider(HttpProvider):
    """A service that speaks OpenAI's protocols or Anthropic's."""

    def __init__(self, name: str, settings: ProviderSettings, resources: Resources) -> None:
        super().__init__(name, settings, resources)
        self._facts = service_of(settings)
        self._is_anthropic = settings.kind == "anthropic"
        own = any(self._base.host.endswith(host) for host in self._facts.hosts)
        self._rules = RuleBook(settings, own_address=own)
        self._learned: Learned = resources.learned
        self._shared = chat.SharedParts(name)
        self._lessons: Counter[str] = Counter()
        """How often something was learned in this process, by place."""
        self._settled: set[str] = set()
        """Places where a request was answered, so that nothing needs to be found out."""
        self._first: dict[str, asyncio.Event] = {}
        """By place, set when the request that finds out has ended."""
        self._said: set[int] = set()
        """Hashes of instructions that were sent before: those are worth keeping in the service's cache."""
        version = {key.lower(): value for key, value in settings.headers.items()}.get("anthropic-version")
        self._version = (version or anthropic.VERSION) if self._is_anthropic else None
        self.fixed_headers = {"anthropic-version": anthropic.VERSION} if self._is_anthropic else {}

    def expected(self, model: str, parameters: Mapping[str, Any], defaults: Collection[str]) -> Sent:
        """What would be sent of these parameters."""
        request = Request(model=model, messages=(), options=dict(parameters))
        way = self._way(request, defaults)
        return self._sent(self._body(request, way), way)

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - passed to the transport
        way = self._way(request)
        if way.place not in self._settled and self._may_be_refused(way):
            return await self._first_answer(request, way, timeout)
        return await self._answer(request, way, timeout)

    async def _first_answer(self, request: Request, way: _Way, timeout: float) -> Answer:  # noqa: ASYNC109
        """One request finds out what the service takes, while the others wait."""
        if (first := self._first.get(way.place)) is not None:
            try:
                await asyncio.wait_for(first.wait(), _PATIENCE)
            except TimeoutError:
                return await self._answer(request, way, timeout)
            return await self.answer(request, timeout)
        first = self._first[way.place] = asyncio.Event()
        try:
            answer = await self._answer(request, way, timeout)
        except FieldRefusedError:
            raise
        except ProviderError:
            self._settled.add(way.place)  # nothing was found out, and nobody shall wait for another failure
            raise
        finally:
            del self._first[way.place]
            first.set()
        return answer

    async def _answer(self, request: Request, way: _Way, timeout: float) -> Answer:  # noqa: ASYNC109
        body = self._body(request, way)
        began = time.monotonic()
        try:
            reply = await self._post(encode(body, self._name), timeout, _PROTOCOLS[way.api].PATH)
        except RequestRefusedError as error:
            answer = self._refusal(error, request, way, body)
            latency = (time.monotonic() - began) * 1000
            return msgspec.structs.replace(answer, latency_ms=latency, sent=self._sent(body, way))
        answer = self._read(reply, request, way.api)
        self._settled.add(way.place)
        usage = answer.usage
        if (cost := reply.headers.get(_STATED_COST)) is not None:
            usage = msgspec.structs.replace(usage, stated_cost=_number(cost))
        return msgspec.structs.replace(answer, latency_ms=reply.latency_ms, sent=self._sent(body, way), usage=usage)

    def _way(self, request: Request, defaults: Collection[str] = ()) -> _Way:
        """Choose the protocol, then the parameters."""
        asked = _asked(request, schemas=self._facts.schemas)
        model, api = request.model, self._api(request.model, asked)
        reasons = str(asked["effort"] or "")
        place = self._place(api, model, reasons)
        if _USE_RESPONSES in self._learned.about(place):
            place = self._place(api := "responses", model, reasons)
        learned = self._learned.about(place)
        chosen = self._rules.choose(model, asked, defaults=defaults, version=self._version, learned=learned)
        return _Way(api, chosen.without(_PROTOCOLS[api].NOT_HERE, api), place)

    def _place(self, api: Api, model: str, effort: str) -> str:
        address = f"{self._base.origin}{self._base.path}{_PROTOCOLS[api].PATH}"
        return "|".join((address, model, self._version or "", effort))

    def _api(self, model: str, asked: Mapping[str, Any]) -> Api:
        if self._is_anthropic:
            return "messages"
        if self._settings.api:
            return self._settings.api
        wanted = self._rules.choose(model, asked).rule.use_path
        return wanted if wanted and wanted in self._facts.apis else "chat"

    def _may_be_refused(self, way: _Way) -> bool:
        return not way.chosen.known and bool(way.chosen.parameters)

    def _body(self, request: Request, way: _Way) -> dict[str, Any]:
        if way.api == "messages":
            body = anthropic.body(request, way.chosen, self._name, cache=self._is_worth_caching(request, way))
        elif way.api == "responses":
            body = responses.body(request, way.chosen, self._name)
        else:
            body = chat.body(request, way.chosen, self._fields(way), self._shared, self._name)
        return {**self._facts.extra, **body} if self._facts.extra else body

    def _fields(self, way: _Way) -> Mapping[str, str]:
        fields = {**self._facts.fields, **way.chosen.rule.rename}
        if _RENAME in self._learned.about(way.place):
            fields["max_tokens"] = "max_tokens" if "max_tokens" in fields else "max_completion_tokens"
        return fields

    def _is_worth_caching(self, request: Request, way: _Way) -> bool:
        """Whether the instructions are long enough to be kept, and were sent before."""
        system = anthropic.system_text(request)
        if not anthropic.can_be_cached(system, way.chosen.rule):
            return False
        repeated = hash(system) in self._said
        self._said.add(hash(system))
        return repeated

    def _sent(self, body: dict[str, Any], way: _Way) -> Sent:
        protocol = _PROTOCOLS[way.api]
        return common.sent(body, protocol.CONTENT, way.chosen, protocol.PATH, self._version)

    def _read(self, reply: HttpReply, request: Request, api: Api) -> Answer:
        match api:
            case "chat":
                return chat.answer(decode(reply, chat.DECODER, self._name), request, self._name)
            case "responses":
                return responses.answer(decode(reply, responses.DECODER, self._name), request, self._name)
            case "messages":
                return anthropic.answer(decode(reply, anthropic.DECODER, self._name), request, self._name)

    def _refusal(self, error: RequestRefusedError, request: Request, way: _Way, body: dict[str, Any]) -> Answer:
        """What a refused request means: the model's answer, something to learn, or the caller's mistake."""
        found = common.ErrorReply.read(error.body)
        if refusal := found.refusal():
            return Answer(
                text="",
                finish_reason=refusal.category or refusal.outcome,
                outcome=refusal.outcome,
                usage=Usage(input_tokens=0, output_tokens=0),  # an error is not billed
                latency_ms=0.0,
                model=request.model,
            )
        if error.status not in (400, 422) or request.strict:
            raise error
        if (learned := self._lesson(found, way, body)) is None:
            raise error
        if learned not in self._learned.about(way.place):  # otherwise another request has found it out meanwhile
            if self._lessons[way.place] >= _MOST_LEARNED:
                raise error
            self._lessons[way.place] += 1
            self._learned.add(way.place, learned, REDACTOR.message(found.message)[:_SHOWN])
        name = learned if learned in way.chosen.parameters else "this way of asking"
        what = f"{request.model} does not accept {name!r}; retrying without it."
        raise FieldRefusedError(what, provider=self._name, status=error.status)

    def _lesson(self, found: common.ErrorReply, way: _Way, body: dict[str, Any]) -> str | None:
        """What can be learned from an error; None if it is not about a parameter that the service does not take."""
        known = self._learned.about(way.place)
        if way.api == "chat" and "/v1/responses" in found.message and "responses" in self._facts.apis:
            return _USE_RESPONSES
        wrong_name = found.field in ("max_tokens", "max_completion_tokens") or "max_completion_tokens" in found.message
        if way.api == "chat" and wrong_name and _RENAME not in known and found.is_about_support:
            return _RENAME
        names = found.refused_parameters(body, way.chosen.parameters)
        return names[0] if names else None

    def _key_headers(self, key: Secret) -> dict[str, str]:
        if self._is_anthropic:
            return {self._settings.api_key_header or "x-api-key": key.reveal()}
        return super()._key_headers(key)


def _asked(request: Request, *, schemas: bool) -> dict[str, Any]:
    """The parameters of a request. What the user names by its name in the protocol overrides ours; null removes it."""
    asked = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "effort": request.effort,
        "schema": request.response_schema if schemas else None,
        "logprobs": request.top_logprobs,
    }
    return asked | {ALIASES.get(name, name): value for name, value in request.options.items()}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
