"""The one place every call passes: budgets, tries, deadline, breaker and accounting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import (
    BadReplyError,
    BudgetSpentError,
    DeadlineError,
    FieldRefusedError,
    ProviderError,
    RateLimitedError,
)
from prompt_evaluator.model import Answer, Request
from prompt_evaluator.providers.calls.waiting import wait_before_retry

if TYPE_CHECKING:
    from random import Random

    from prompt_evaluator.model import Limits
    from prompt_evaluator.providers.calls.breaker import Breaker
    from prompt_evaluator.providers.calls.budget import Budget
    from prompt_evaluator.providers.calls.governor import Governor
    from prompt_evaluator.providers.calls.meter import Meter
    from prompt_evaluator.providers.prices import Prices

Send = Callable[[Request, float], Awaitable[Answer]]
"""Makes one try within so many seconds: returns the answer or raises a `ProviderError`."""

_MOST_BAD_REPLIES = 3
"""A reply that cannot be read may have been paid for, so it is not asked for as often as one that never came."""
_UNKNOWN_ANSWER_TOKENS = 256
_CHARACTERS_PER_TOKEN = 4


class CallPolicy:
    """Calls of one provider. Providers that share a key and an endpoint share a governor and a breaker."""

    def __init__(  # noqa: PLR0913 - its parts, put together by `CallContext` alone
        self,
        provider: str,
        limits: Limits,
        *,
        governor: Governor,
        breaker: Breaker,
        meter: Meter,
        prices: Prices,
        budget: Budget,
        rng: Random,
    ) -> None:
        self._provider, self._limits = provider, limits
        self._governor, self._breaker, self._meter = governor, breaker, meter
        self._prices, self._budget, self._rng = prices, budget, rng

    async def call(self, send: Send, request: Request) -> Answer:
        """The answer to a request, after as many tries as it takes and the limits allow."""
        self._breaker.check()
        self._meter.started(self._provider)
        try:
            answer = await self._call(send, request)
        except ProviderError as error:
            self._breaker.failed(error)
            self._meter.failed(error)
            raise
        finally:
            self._meter.ended()
        self._breaker.succeeded()
        return answer

    def learn(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """Pass on what a reply's headers say about the limits of this key."""
        self._governor.learn(requests_per_minute, tokens_per_minute)

    async def _call(self, send: Send, request: Request) -> Answer:
        limits = self._limits
        spent = 0.0  # in tries and in waits between them; a place in the queue is not the service's fault
        tries = 0
        kind = self._kind(request)
        while True:
            estimate = _estimated_tokens(request) if self._governor.counts_tokens else 0.0
            if not self._governor.try_enter(estimate):
                await self._queue(estimate)
            try:
                guess = self._guessed_cost(request) if self._budget.limits_cost else 0.0
                if not self._budget.try_take(kind, guess):
                    await self._budget.take(kind, guess)
            except (BudgetSpentError, asyncio.CancelledError):
                self._governor.leave()
                raise
            tries += 1
            self._meter.tries += 1
            began = time.monotonic()
            try:
                answer = await send(request, min(limits.try_timeout, limits.deadline - spent))
                seconds = time.monotonic() - began
                self._governor.succeeded(seconds, began, _total_tokens(answer), estimate)
                return self._account(request, answer, tries, seconds)
            except ProviderError as caught:
                error = caught
                if isinstance(error, RateLimitedError):
                    hold = error.retry_after if (error.retry_after or 0) <= limits.max_retry_after else None
                    self._governor.pushed_back(began, hold)
            finally:
                self._governor.leave()
                self._budget.settle(kind)
                self._meter.busy_seconds += time.monotonic() - began
            wait = self._wait_or_give_up(error, tries, spent + time.monotonic() - began)
            self._meter.retrying(error, wait)
            await asyncio.sleep(wait)
            spent += time.monotonic() - began
            self._breaker.check()

    async def _queue(self, estimate: float) -> None:
        start = time.monotonic()
        try:
            await self._governor.enter(estimate)
        finally:
            self._meter.throttled(self._provider, time.monotonic() - start)
        try:
            self._breaker.check()
        except ProviderError:
            self._governor.leave()
            raise

    def _wait_or_give_up(self, error: ProviderError, tries: int, spent: float) -> float:
        """Seconds until the next try; raises when there is to be none."""
        error.tries = tries
        if not error.retried:
            raise error
        if isinstance(error, FieldRefusedError):
            return 0.0  # asked in another way, and each way only once
        most = min(self._limits.max_tries, _MOST_BAD_REPLIES if isinstance(error, BadReplyError) else tries + 1)
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
            late = DeadlineError(sentence, provider=self._provider, status=error.status)
            late.tries = tries
            raise late from error
        return wait

    def _kind(self, request: Request) -> tuple[str, str, bool]:
        return self._provider, request.model, request.response_schema is None

    def _guessed_cost(self, request: Request) -> float:
        price = self._prices.of(request.model)
        if price is None:
            return 0.0
        asked, answered = _estimated_parts(request)
        return (asked * price.input + answered * price.output) / 1_000_000

    def _account(self, request: Request, answer: Answer, tries: int, seconds: float) -> Answer:
        cost = answer.cost
        if cost is None:
            cost = self._prices.cost(request.model, answer.usage)
        if cost != answer.cost or tries != 1:
            answer = msgspec.structs.replace(answer, cost=cost, tries=tries)
        if not answer.text.isascii():
            answer = _storable(answer)
        self._budget.pay(self._kind(request), cost)
        self._meter.answered(self._provider, answer, seconds)
        return answer


def _storable(answer: Answer) -> Answer:
    """The answer without halves of characters, which programs under test may produce and no file can hold."""
    try:
        answer.text.encode()
    except UnicodeEncodeError:
        return msgspec.structs.replace(answer, text=answer.text.encode(errors="replace").decode())
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
