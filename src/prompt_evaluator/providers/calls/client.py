"""Every call goes through here: limits, budget, tries, deadline, breaker and accounting."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import PromptEvaluatorError, ProviderError, RateLimitedError, TimedOutError
from prompt_evaluator.providers.calls.guard import Guarded, as_provider_error, storable
from prompt_evaluator.providers.calls.retrying import Retries
from prompt_evaluator.providers.calls.stop import plain_wait, sleep
from prompt_evaluator.providers.prices import Prices

if TYPE_CHECKING:
    from collections.abc import Hashable
    from random import Random

    from prompt_evaluator.model import Answer, Price, ProviderSettings, Request
    from prompt_evaluator.ports import Provider
    from prompt_evaluator.providers.calls.breaker import Breaker, Breakers
    from prompt_evaluator.providers.calls.budget import Budget
    from prompt_evaluator.providers.calls.governor import Governor
    from prompt_evaluator.providers.calls.lanes import Lane
    from prompt_evaluator.providers.calls.meter import Meter
    from prompt_evaluator.providers.calls.stop import Stop, Wait
    from prompt_evaluator.providers.calls.traits import Traits

TRY: ContextVar[int] = ContextVar("try", default=1)
"""Number of the current try, for the mock, whose faults must differ between tries."""

_UNKNOWN_ANSWER_TOKENS = 256
_CHARACTERS_PER_TOKEN = 4


class Client:
    """A provider as one run uses it. The governor is its key's, the breakers are its entry's, the rest is the run's."""

    def __init__(  # noqa: PLR0913 - its parts; only `RunCalls` makes one
        self,
        provider: Provider,
        settings: ProviderSettings,
        traits: Traits,
        *,
        governor: Governor,
        breakers: Breakers,
        lane: Lane,
        meter: Meter,
        budget: Budget,
        stop: Stop,
        rng: Random,
        urgent: bool,
        assumed_price: Price | None = None,
    ) -> None:
        self.name = provider.name
        self._answer = provider.answer if traits.trusted else Guarded(provider).answer
        self._limits, self._prices = settings.limits, Prices(provider.name, settings, assumed=assumed_price)
        self._timeout = min(settings.limits.try_timeout, settings.limits.deadline)
        """Timeout of a call's first try."""
        self._max_tries = min(settings.limits.max_tries, traits.max_tries or settings.limits.max_tries)
        self._governor, self._breakers, self._lane = governor, breakers, lane
        self._known: dict[str, Breaker] = {}
        """Breakers by model."""
        self._meter, self._budget, self._stop, self._rng = meter, budget, stop, rng
        self._urgent = urgent
        self._wait: Wait = plain_wait if urgent else stop.wait

    async def complete(self, request: Request) -> Answer:
        """Answer a request, trying as often as needed within the limits."""
        breaker = self._known.get(request.model) or self._breaker(request.model)
        on_trial = breaker.is_open and breaker.admit()
        self._meter.started(self.name)
        try:
            answer = await self._call(request, breaker, on_trial=on_trial)
        except ProviderError as error:
            breaker.failed(error, on_trial=on_trial)
            self._meter.failed(error)
            raise
        except BaseException:
            if on_trial:
                breaker.gave_up()
            raise
        finally:
            self._meter.ended()
        breaker.succeeded()
        return answer

    async def _call(self, request: Request, breaker: Breaker, *, on_trial: bool) -> Answer:
        limits, governor, budget = self._limits, self._governor, self._budget
        spent = 0.0  # in tries and the waits between them; time in our own queue does not count
        tries = 0
        retries: Retries | None = None
        kind = self._kind(request) if budget.limited else None
        try:
            while True:
                # Before queueing: a call that waits for budget must not block the calls that may release some.
                if budget.limited and not budget.try_take(kind, guess := self._guessed_cost(request)):
                    await budget.take(kind, guess, self._wait)
                estimate = _estimated_tokens(request) if governor.counts_tokens else 0.0
                if breaker.reach.in_doubt or self._stop.stopped or not governor.try_enter(self._lane, estimate):
                    await self._queue(kind, estimate, None if on_trial else breaker, first=not tries)
                tries += 1
                self._meter.tries += 1
                timeout = min(limits.try_timeout, limits.deadline - spent) if spent else self._timeout
                began = time.monotonic()
                try:
                    answer = await self._answer(request, timeout)
                except BaseException as caught:  # noqa: BLE001 - plug-ins may raise anything; it only fails this call
                    error = as_provider_error(caught, self.name)
                    self._learn(error, began, kind)
                else:
                    seconds = time.monotonic() - began
                    self._meter.busy_seconds += seconds
                    governor.succeeded(seconds, began, estimate, answer.usage if governor.counts_tokens else None)
                    return self._account(request, answer, tries, seconds, retries)
                finally:
                    governor.leave(self._lane)
                    if budget.limited:
                        budget.settle(kind)
                took = time.monotonic() - began
                self._meter.busy_seconds += took
                retries = retries or Retries(self.name, limits, self._max_tries, self._rng)
                retries.add(error, tries)
                if error.retried and not on_trial:
                    breaker.try_failed(error, request.messages, took=took, give_up_after=limits.give_up_after)
                    breaker.check()
                silent = breaker.nobody_is_answered and not on_trial
                wait = retries.wait_before_next(error, spent + took, nobody_is_answered=silent)
                await self._pause(error, wait, None if on_trial else breaker)
                spent += time.monotonic() - began
                TRY.set(tries + 1)
        except PromptEvaluatorError as failed:
            failed.time_outs = retries.time_outs if retries else 0
            raise
        finally:
            if retries is not None:
                TRY.set(1)  # for the next call of this task

    def _breaker(self, model: str) -> Breaker:
        self._known[model] = self._breakers.of(model, urgent=self._urgent)
        return self._known[model]

    async def _queue(self, kind: Hashable, estimate: float, breaker: Breaker | None, *, first: bool) -> None:
        """Wait until the call may be sent.

        Before its first try, also wait for other calls to reach the service, if that is in doubt. If the call is not
        sent, give back what was taken from the budget.
        """
        governor = self._governor
        limited = governor.limited_seconds()
        try:
            if not self._urgent:
                self._stop.check()
            await governor.enter(self._lane, estimate, urgent=self._urgent, wait=self._waiting(breaker))
            if first and breaker is not None and breaker.reach.in_doubt:
                governor.leave(self._lane)
                await breaker.reach.wait(self._waiting(breaker))
                await governor.enter(self._lane, estimate, urgent=self._urgent, wait=self._waiting(breaker))
            try:
                if not self._urgent:
                    self._stop.check()
                if breaker is not None:
                    breaker.check()
            except BaseException:
                governor.leave(self._lane)
                raise
        except BaseException:
            if self._budget.limited:
                self._budget.give_back(kind)
            raise
        finally:
            self._meter.throttled(self.name, governor.limited_seconds() - limited)

    async def _pause(self, error: ProviderError, seconds: float, breaker: Breaker | None) -> None:
        """Wait before the next try."""
        self._meter.retrying(error, seconds)
        start = time.monotonic()
        try:
            await sleep(seconds, self._waiting(breaker))
        finally:
            if isinstance(error, RateLimitedError):
                self._meter.throttled(self.name, time.monotonic() - start)

    def _waiting(self, breaker: Breaker | None) -> Wait:
        """Return how to wait: interrupted if the circuit opens or, unless calls are urgent, if the run is stopped."""
        if breaker is None:
            return self._wait
        return lambda future: breaker.wait(future, self._wait)

    def _learn(self, error: ProviderError, began: float, kind: Hashable) -> None:
        """Update governor, meter and budget after a failed try."""
        if isinstance(error, RateLimitedError):
            asked = error.retry_after or 0.0  # too long to wait for; must not hold back other calls
            self._governor.pushed_back(began, error.retry_after if asked <= self._limits.max_retry_after else None)
        elif isinstance(error, TimedOutError):
            self._meter.time_outs += 1
            if self._budget.limited:
                self._budget.may_have_paid(kind)

    def _kind(self, request: Request) -> tuple[str, str, bool]:
        return self.name, request.model, request.response_schema is None

    def _guessed_cost(self, request: Request) -> float:
        if not self._budget.limits_cost:
            return 0.0
        asked, answered = _estimated_parts(request)
        if (price := self._prices.of(request.model, input_tokens=asked)) is None:
            return 0.0
        return (asked * price.input + answered * price.output) / 1_000_000

    def _account(self, request: Request, answer: Answer, tries: int, seconds: float, retries: Retries | None) -> Answer:
        cost = answer.cost
        if cost is None:
            cost = self._prices.cost(request.model, answer.usage)
        if cost != answer.cost or tries != answer.tries:
            time_outs = (retries and retries.time_outs) or msgspec.UNSET
            answer = msgspec.structs.replace(answer, cost=cost, tries=tries, time_outs=time_outs)
        if not answer.text.isascii():
            answer = storable(answer)
        if self._budget.limited:
            self._budget.pay(self._kind(request), cost)
        self._meter.answered(self.name, answer, seconds)
        return answer


def _estimated_tokens(request: Request) -> float:
    return sum(_estimated_parts(request))


def _estimated_parts(request: Request) -> tuple[float, float]:
    """Estimate the tokens of the question and of the answer."""
    characters = sum(len(message.content) for message in request.messages)
    return characters / _CHARACTERS_PER_TOKEN, request.max_tokens or _UNKNOWN_ANSWER_TOKENS
