"""The one place every call passes: limits, budget, tries, deadline, breaker and accounting."""

from __future__ import annotations

import asyncio
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import (
    BadReplyError,
    DeadlineError,
    FieldRefusedError,
    ProviderError,
    RateLimitedError,
)
from prompt_evaluator.providers.calls.guard import Guarded, as_provider_error, storable
from prompt_evaluator.providers.calls.stop import plain_wait
from prompt_evaluator.providers.calls.waiting import wait_before_retry
from prompt_evaluator.providers.prices import Prices

if TYPE_CHECKING:
    from random import Random

    from prompt_evaluator.model import Answer, ProviderSettings, Request
    from prompt_evaluator.ports import Provider
    from prompt_evaluator.providers.calls.breaker import Breaker
    from prompt_evaluator.providers.calls.budget import Budget
    from prompt_evaluator.providers.calls.governor import Governor, Lane
    from prompt_evaluator.providers.calls.meter import Meter
    from prompt_evaluator.providers.calls.stop import Stop
    from prompt_evaluator.providers.calls.traits import Traits

TRY: ContextVar[int] = ContextVar("try", default=1)
"""Which try of a call this is, for the mock, whose faults have to differ from one try to the next."""

_MOST_BAD_REPLIES = 3
"""A reply that cannot be read may have been paid for, so it is not asked for as often as one that never came."""
_UNKNOWN_ANSWER_TOKENS = 256
_CHARACTERS_PER_TOKEN = 4


class Client:
    """A provider as one run sees it. Governor and breaker are those of its key and endpoint; the rest is the run's."""

    def __init__(  # noqa: PLR0913 - its parts, put together by `RunCalls` alone
        self,
        provider: Provider,
        settings: ProviderSettings,
        traits: Traits,
        *,
        governor: Governor,
        breaker: Breaker,
        lane: Lane,
        meter: Meter,
        budget: Budget,
        stop: Stop,
        rng: Random,
        urgent: bool,
    ) -> None:
        self.name, self.structured_output = provider.name, provider.structured_output
        self._answer = provider.answer if traits.trusted else Guarded(provider).answer
        self._limits, self._prices = settings.limits, Prices(provider.name, settings.prices)
        self._max_tries = min(settings.limits.max_tries, traits.max_tries or settings.limits.max_tries)
        self._governor, self._breaker, self._lane = governor, breaker, lane
        self._meter, self._budget, self._stop, self._rng = meter, budget, stop, rng
        self._urgent = urgent
        self._wait = plain_wait if urgent else stop.wait
        self._sleep = asyncio.sleep if urgent else stop.sleep

    async def complete(self, request: Request) -> Answer:
        """The answer to a request, after as many tries as it takes and the limits allow."""
        on_trial = self._breaker.is_open and self._breaker.admit()
        self._meter.started(self.name)
        try:
            answer = await self._call(request, on_trial=on_trial)
        except ProviderError as error:
            self._breaker.failed(error, on_trial=on_trial)
            self._meter.failed(error)
            raise
        except BaseException:
            if on_trial:
                self._breaker.gave_up()
            raise
        finally:
            self._meter.ended()
            if TRY.get() > 1:
                TRY.set(1)  # the next call of this task begins anew
        self._breaker.succeeded()
        return answer

    async def _call(self, request: Request, *, on_trial: bool) -> Answer:
        limits, governor, budget = self._limits, self._governor, self._budget
        spent = 0.0  # in tries and in waits between them; a place in the queue is not the service's fault
        tries = 0
        kind = self._kind(request)
        while True:
            # Before the queue: whoever waits for money that others may give back must not be in their way.
            if budget.limited and not budget.try_take(kind, guess := self._guessed_cost(request)):
                await budget.take(kind, guess, self._wait)
            estimate = _estimated_tokens(request) if governor.counts_tokens else 0.0
            if self._stop.stopped or not governor.try_enter(self._lane, estimate):
                await self._queue(kind, estimate, on_trial=on_trial)
            tries += 1
            self._meter.tries += 1
            began = time.monotonic()
            try:
                answer = await self._answer(request, min(limits.try_timeout, limits.deadline - spent))
            except BaseException as caught:  # noqa: BLE001 - a plug-in may raise anything, and it is this call's failure
                error = as_provider_error(caught, self.name)
                if isinstance(error, RateLimitedError):
                    governor.pushed_back(began, self._hold(error))
            else:
                seconds = time.monotonic() - began
                governor.succeeded(seconds, began, _total_tokens(answer), estimate)
                return self._account(request, answer, tries, seconds)
            finally:
                governor.leave(self._lane)
                if budget.limited:
                    budget.settle(kind)
                self._meter.busy_seconds += time.monotonic() - began
            wait = self._wait_or_give_up(error, tries, spent + time.monotonic() - began)
            self._meter.retrying(error, wait)
            await self._sleep(wait)
            spent += time.monotonic() - began
            if not on_trial:
                self._breaker.check()
            TRY.set(tries + 1)

    async def _queue(self, kind: tuple[str, str, bool], estimate: float, *, on_trial: bool) -> None:
        """Wait for a place. Whatever keeps the call from being sent gives back what was taken from the budget."""
        start = time.monotonic()
        try:
            if not self._urgent:
                self._stop.check()
            await self._governor.enter(self._lane, estimate, urgent=self._urgent, wait=self._wait)
            try:
                if not self._urgent:
                    self._stop.check()
                if not on_trial:
                    self._breaker.check()
            except BaseException:
                self._governor.leave(self._lane)
                raise
        except BaseException:
            if self._budget.limited:
                self._budget.give_back(kind)
            raise
        finally:
            self._meter.throttled(self.name, time.monotonic() - start)

    def _hold(self, error: RateLimitedError) -> float | None:
        """Seconds for which no call of this key should go; more than is waited for at all says nothing about others."""
        return error.retry_after if (error.retry_after or 0) <= self._limits.max_retry_after else None

    def _wait_or_give_up(self, error: ProviderError, tries: int, spent: float) -> float:
        """Seconds until the next try; raises when there is to be none."""
        error.tries = tries
        if not error.retried:
            raise error
        if isinstance(error, FieldRefusedError):
            return 0.0  # asked in another way, and each way only once
        most = min(self._max_tries, _MOST_BAD_REPLIES if isinstance(error, BadReplyError) else tries + 1)
        asked = error.retry_after
        if asked is not None and asked > self._limits.max_retry_after:
            raise _extended(error, f"It asks to wait {asked:,.0f} s, longer than max_retry_after allows.") from error
        if tries >= most:
            raise (_extended(error, f"Given up after {tries} tries.") if tries > 1 else error) from error
        wait = wait_before_retry(tries, asked, self._limits.first_backoff, self._rng)
        if spent + wait >= self._limits.deadline:
            sentence = (
                f"no answer within {self._limits.deadline:,.0f} s and {tries} tries; the last: {_sentence(error)}"
            )
            late = DeadlineError(sentence, provider=self.name, status=error.status)
            late.tries = tries
            raise late from error
        return wait

    def _kind(self, request: Request) -> tuple[str, str, bool]:
        return self.name, request.model, request.response_schema is None

    def _guessed_cost(self, request: Request) -> float:
        price = self._prices.of(request.model) if self._budget.limits_cost else None
        if price is None:
            return 0.0
        asked, answered = _estimated_parts(request)
        return (asked * price.input + answered * price.output) / 1_000_000

    def _account(self, request: Request, answer: Answer, tries: int, seconds: float) -> Answer:
        cost = answer.cost
        if cost is None:
            cost = self._prices.cost(request.model, answer.usage)
        if cost != answer.cost or tries != answer.tries:
            answer = msgspec.structs.replace(answer, cost=cost, tries=tries)
        if not answer.text.isascii():
            answer = storable(answer)
        if self._budget.limited:
            self._budget.pay(self._kind(request), cost)
        self._meter.answered(self.name, answer, seconds)
        return answer


def _estimated_tokens(request: Request) -> float:
    return sum(_estimated_parts(request))


def _estimated_parts(request: Request) -> tuple[float, float]:
    """Tokens of the question and of the answer."""
    characters = sum(len(message.content) for message in request.messages)
    return characters / _CHARACTERS_PER_TOKEN, request.max_tokens or _UNKNOWN_ANSWER_TOKENS


def _total_tokens(answer: Answer) -> float | None:
    used = answer.usage
    if used.input_tokens is None or used.output_tokens is None:
        return None
    return used.input_tokens + used.output_tokens


def _sentence(error: ProviderError) -> str:
    return str(error).removeprefix(f"{error.provider}: ")


def _extended(error: ProviderError, more: str) -> ProviderError:
    longer = type(error)(
        f"{_sentence(error)} {more}", provider=error.provider, status=error.status, retry_after=error.retry_after
    )
    longer.tries = error.tries
    return longer
