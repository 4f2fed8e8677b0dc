"""Every call goes through here: limits, budget, tries, deadline, breaker and accounting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.calls.guard import Guarded, as_provider_error
from prompt_evaluator.calls.retry import Retries
from prompt_evaluator.calls.stop import plain_wait, sleep
from prompt_evaluator.errors import PromptEvaluatorError, ProviderError, RateLimitedError, TimedOutError
from prompt_evaluator.model import REDACTOR, Answer, Usage

if TYPE_CHECKING:
    from collections.abc import Hashable

    from prompt_evaluator.calls.breaker import Breaker
    from prompt_evaluator.calls.governor import Governor, Lane
    from prompt_evaluator.calls.runs import RunCalls
    from prompt_evaluator.calls.stop import Wait
    from prompt_evaluator.model import ProviderSettings, Request, Secret
    from prompt_evaluator.ports import Provider

Cost = Callable[[str, Usage], float | None]
"""Returns what a model's usage costs in US dollars, or None if that is unknown."""

_UNKNOWN_ANSWER_TOKENS = 256
_CHARACTERS_PER_TOKEN = 4


class Traits(NamedTuple):
    """Optional attributes of a provider, or their defaults. Most providers need none of them."""

    endpoint: str = ""
    """Where its calls go. Entries with the same endpoint and key share limits. If empty, the entry's name is used."""
    key: Secret | None = None
    """The API key of its calls."""
    max_tries: int | None = None
    """Most tries of a call, even if the configuration allows more."""
    trusted: bool = False
    """Whether the provider itself respects `timeout` and returns only storable answers, so that it need not be wrapped
    in `Guarded`."""

    @classmethod
    def of(cls, provider: Provider) -> Traits:
        return cls(**{name: getattr(provider, name) for name in cls._fields if hasattr(provider, name)})


@dataclass(slots=True, eq=False)
class _Call:
    """What has become of a call so far."""

    request: Request
    breaker: Breaker
    on_trial: bool
    kind: Hashable
    retries: Retries
    tries: int = 0
    spent: float = 0.0
    """Seconds in tries and the waits between them; time in our own queue does not count."""
    billed: float = 0.0
    """US dollars for failed tries."""


class Client:
    """A provider as one run uses it. The governor is its key's, the breakers are its entry's, the rest is the run's."""

    def __init__(  # noqa: PLR0913 - its parts; only `RunCalls` makes one
        self,
        provider: Provider,
        settings: ProviderSettings,
        *,
        traits: Traits,
        cost: Cost,
        governor: Governor,
        lane: Lane,
        breaker_of: Callable[[str], Breaker],
        run: RunCalls,
        urgent: bool,
    ) -> None:
        self.name = provider.name
        self._answer = provider.answer if traits.trusted else Guarded(provider).answer
        self._limits, self._cost = settings.limits, cost
        self._max_tries = min(settings.limits.max_tries, traits.max_tries or settings.limits.max_tries)
        self._governor, self._lane, self._breaker_of = governor, lane, breaker_of
        self._breakers: dict[str, Breaker] = {}
        """By model."""
        self._budget, self._meter, self._clock, self._rng = run.budget, run.meter, run.clock, run.rng
        self._urgent = urgent
        self._stop = None if urgent else run.stopping
        self._wait: Wait = run.stopping.wait if self._stop else plain_wait

    async def complete(self, request: Request) -> Answer:
        """Answer a request, trying as often as needed within the limits."""
        if (breaker := self._breakers.get(request.model)) is None:
            breaker = self._breakers[request.model] = self._breaker_of(request.model)
        on_trial = breaker.is_open and breaker.admit()
        self._meter.in_flight += 1
        self._meter.calls += 1
        try:
            answer = await self._call(request, breaker, on_trial=on_trial)
        except ProviderError as error:
            breaker.failed(error, on_trial=on_trial)
            self._meter.failures[type(error).__name__] += 1
            raise
        except BaseException:
            if on_trial:
                breaker.gave_up()
            raise
        finally:
            self._meter.in_flight -= 1
        breaker.succeeded()
        return answer

    async def _call(self, request: Request, breaker: Breaker, *, on_trial: bool) -> Answer:
        kind = (self.name, request.model, request.response_schema is None)
        retries = Retries(self.name, self._limits, self._max_tries, self._rng)
        call = _Call(request, breaker, on_trial, kind, retries)
        try:
            while True:
                tokens = sum(_expected_parts(request)) if self._governor.counts_tokens else 0.0
                await self._admission(call, tokens)
                began = self._clock()
                outcome = await self._try(call, tokens, began)
                took = self._clock() - began
                self._meter.busy_seconds += took
                if isinstance(outcome, Answer):
                    return self._with_costs(outcome, call)
                await self._after_failure(call, outcome, took)
                call.spent += self._clock() - began
        except PromptEvaluatorError as failed:
            failed.time_outs, failed.cost = retries.time_outs, call.billed or None
            raise

    async def _admission(self, call: _Call, tokens: float) -> None:
        """Wait until the call may be sent. If it is not sent, give back what was taken from the budget."""
        # Before queueing: a call that waits for budget must not block those that may release some.
        guess = self._guessed_cost(call.request) if self._budget.limits == "cost" else 0.0
        await self._budget.take(call.kind, guess, self._wait)
        try:
            self._check(call)
            if not self._governor.try_enter(self._lane, tokens):
                await self._turn(call, tokens)
        except BaseException:
            self._budget.give_back(call.kind)
            raise

    async def _turn(self, call: _Call, tokens: float) -> None:
        """Wait for the governor."""
        began, limited = self._clock(), self._governor.is_limiting
        try:
            await self._governor.enter(self._lane, tokens, urgent=self._urgent, wait=self._waiting(call))
        finally:
            if limited or self._governor.is_limiting:
                self._meter.throttled_seconds += self._clock() - began
        try:
            self._check(call)
        except BaseException:
            self._governor.leave(self._lane, tokens)
            raise

    def _check(self, call: _Call) -> None:
        if self._stop:
            self._stop.check()
        if not call.on_trial:
            call.breaker.check()

    def _waiting(self, call: _Call) -> Wait:
        """Return how to wait: interrupted if the circuit opens or, unless calls are urgent, if the run is stopped."""
        if call.on_trial:
            return self._wait
        return lambda future: call.breaker.wait(future, self._wait)

    def _guessed_cost(self, request: Request) -> float:
        asked, answered = _expected_parts(request)
        guess = Usage(input_tokens=int(asked), output_tokens=int(answered))
        return self._cost(request.model, guess) or 0.0

    async def _try(self, call: _Call, tokens: float, began: float) -> Answer | ProviderError:
        """Send the request once. Whatever a plug-in raises is the failure of this call alone."""
        call.tries += 1
        self._meter.tries += 1
        request, limits = call.request, self._limits
        if call.tries > 1:
            request = msgspec.structs.replace(request, tries=call.tries - 1)
        unused = tokens
        try:
            answer = await self._answer(request, min(limits.try_timeout, limits.deadline - call.spent))
        except BaseException as caught:  # noqa: BLE001 - plug-ins may raise anything; it only fails this call
            error = as_provider_error(caught, self.name)
            self._account_failure(call, error, began)
            return error
        else:
            self._governor.succeeded()
            unused -= _used_tokens(answer.usage, tokens)
            return self._account(call, answer)
        finally:
            self._governor.leave(self._lane, unused)
            self._budget.settle(call.kind)

    def _account(self, call: _Call, answer: Answer) -> Answer:
        """Count and price an answer."""
        cost = answer.cost
        if cost is None and (cost := self._cost(call.request.model, answer.usage)) is not None:
            answer = msgspec.structs.replace(answer, cost=cost)
        self._budget.pay(call.kind, cost)
        self._meter.answers += 1
        self._meter.billed(answer.usage, cost)
        return REDACTOR.struct(answer)

    def _account_failure(self, call: _Call, error: ProviderError, began: float) -> None:
        """Count a failed try, and price it if it was billed all the same."""
        if isinstance(error, RateLimitedError):
            asked = error.retry_after or 0.0  # too long to wait for; must not hold back other calls
            hold = error.retry_after if asked <= self._limits.max_retry_after else None
            self._governor.pushed_back(call, began, hold)
        elif isinstance(error, TimedOutError):
            self._meter.time_outs += 1
            self._budget.may_have_paid(call.kind)
        if error.usage is not None:
            cost = self._cost(call.request.model, error.usage)
            call.billed += cost or 0.0
            self._meter.billed(error.usage, cost)
            self._budget.pay(call.kind, cost)

    def _with_costs(self, answer: Answer, call: _Call) -> Answer:
        """The answer with what was paid for failed tries before it."""
        if call.tries == answer.tries:
            return answer
        cost = None if answer.cost is None else answer.cost + call.billed
        time_outs = call.retries.time_outs or msgspec.UNSET
        return msgspec.structs.replace(answer, cost=cost, tries=call.tries, time_outs=time_outs)

    async def _after_failure(self, call: _Call, error: ProviderError, took: float) -> None:
        """Wait for the next try. Raise if there is none."""
        breaker, limits = call.breaker, self._limits
        call.retries.add(error, call.tries)
        if error.retried and not call.on_trial:
            breaker.try_failed(error, call.request.messages, took=took, give_up_after=limits.give_up_after)
            breaker.check()
        refused = self._governor.is_refused and not call.on_trial
        wait = call.retries.wait_before_next(error, call.spent + took, others_are_refused=refused)
        if breaker.is_unreached(error):
            self._governor.hold(wait)  # a hundred calls to a wrong address need not try a hundred times
        self._meter.retrying(error, wait)
        start = self._clock()
        try:
            await sleep(wait, self._waiting(call))
        finally:
            if isinstance(error, RateLimitedError):
                self._meter.throttled_seconds += self._clock() - start


def _expected_parts(request: Request) -> tuple[float, float]:
    """Estimate the tokens of the question and of the answer."""
    characters = sum(len(message.content) for message in request.messages)
    return characters / _CHARACTERS_PER_TOKEN, request.max_tokens or _UNKNOWN_ANSWER_TOKENS


def _used_tokens(usage: Usage, expected: float) -> float:
    if usage.input_tokens is None or usage.output_tokens is None:
        return expected
    return usage.input_tokens + usage.output_tokens
