"""Whole runs against services with limits of every kind, in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from calling import ANSWER, Calls, asking
from entries import each
from virtual_time import in_virtual_time, now

from prompt_evaluator.errors import PromptEvaluatorError, RateLimitedError, RequestRefusedError, UnreachableError
from prompt_evaluator.model import Answer, Limits, ProviderSettings, Request

if TYPE_CHECKING:
    from collections.abc import Callable


class Service:
    """Says 429 above so many calls at once, or above a rate with one second of burst."""

    name = "svc"
    trusted = True

    def __init__(
        self,
        *,
        at_once: int | None = None,
        per_second: float | None = None,
        seconds: float = 1.0,
        retry_after: float | None = None,
        fails: Callable[[Request], Exception | None] = lambda _: None,
    ) -> None:
        self._at_once, self._per_second = at_once, per_second
        self._seconds, self._retry_after = seconds, retry_after
        self._fails = fails
        self._level, self._since = per_second or 0.0, now()
        self.tries = self.answering = self.most_at_once = self.answers = self.refusals = 0

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ARG002, ASYNC109
        self.tries += 1
        if error := self._fails(request):
            await asyncio.sleep(0.01)
            raise error
        if not self._admits():
            self.refusals += 1
            await asyncio.sleep(0.01)
            raise RateLimitedError("too many.", provider="svc", status=429, retry_after=self._retry_after)
        self.answering += 1
        self.most_at_once = max(self.most_at_once, self.answering)
        await asyncio.sleep(self._seconds)
        self.answering -= 1
        self.answers += 1
        return ANSWER

    def _admits(self) -> bool:
        if self._per_second is not None:
            self._level = min(self._per_second, self._level + (now() - self._since) * self._per_second)
            self._since = now()
            if self._level < 1:
                return False
            self._level -= 1
        return self._at_once is None or self.answering < self._at_once

    async def close(self) -> None:
        """There is nothing to let go of."""


async def run(service: Any, count: int, *, max_tokens: int | None = None, **limits: Any) -> Counter[str]:
    """Make so many calls, 64 at the same time at most, and return the failures by class."""
    client = Calls().around(service, ProviderSettings(kind="test", limits=Limits(**limits)))
    numbers, failures = iter(range(count)), Counter[str]()

    async def worker() -> None:
        for number in numbers:
            request = asking(number)
            try:
                await client.complete(Request(model="m", messages=request.messages, max_tokens=max_tokens))
            except PromptEvaluatorError as error:
                failures[type(error).__name__] += 1

    await asyncio.gather(*(worker() for _ in range(64)))
    return failures


LIMITS: list[dict[str, Any]] = [{"at_once": 1}, {"at_once": 3}, {"per_second": 1.0}, {"per_second": 20.0}]


@each(
    ("limit", "seconds", "retry_after"),
    [(limit, seconds, after) for limit in LIMITS for seconds in (0.02, 2.0) for after in (None, 1.0)],
)
@in_virtual_time
async def test_every_call_is_answered_whatever_the_service_can_take(
    limit: dict[str, Any], seconds: float, retry_after: float | None
) -> None:
    service = Service(**limit, seconds=seconds, retry_after=retry_after)

    failures = await run(service, 300)

    assert not failures
    assert service.answers == 300


@in_virtual_time
async def test_most_of_what_a_service_can_take_is_used() -> None:
    service = Service(at_once=20)

    began = now()
    await run(service, 1_000)

    assert now() - began < 1.2 * 1_000 / 20
    assert service.refusals < 100


@in_virtual_time
async def test_a_service_without_limits_is_soon_asked_64_things_at_once() -> None:
    service = Service()

    began = now()
    await run(service, 1_000)

    assert service.most_at_once == 64
    assert now() - began <= 1_000 / 64 + 2


@in_virtual_time
async def test_generous_limits_hold_nobody_back() -> None:
    service = Service()

    began = now()
    await run(service, 167, max_tokens=4_096, tokens_per_minute=2_000_000, requests_per_minute=100_000)

    assert now() - began <= 5  # 250,000 tokens: 8, 32, 64 and 63 calls of a second each
    assert service.most_at_once == 64


@in_virtual_time
async def test_a_configured_rate_is_kept_and_used() -> None:
    service = Service(per_second=10)

    began = now()
    await run(service, 600, requests_per_minute=590)

    assert service.refusals == 0
    assert now() - began < 1.05 * 60 + 1


@in_virtual_time
async def test_one_request_that_always_gets_a_429_fails_and_the_others_do_not() -> None:
    too_large = RateLimitedError("too large for the tokens of a minute.", provider="svc", status=429)
    service = Service(fails=lambda request: too_large if request.messages == asking(100).messages else None)

    assert await run(service, 200) == {"RateLimitedError": 1}
    assert service.answers == 199


NOBODY = UnreachableError("connection refused.", provider="svc")


@in_virtual_time
async def test_a_hundred_calls_to_a_wrong_address_do_not_try_a_hundred_times() -> None:
    service = Service(fails=lambda _: NOBODY)

    began = now()
    failures = await run(service, 100)

    assert failures == {"CircuitOpenError": 100}
    assert service.tries <= 60
    assert now() - began < 10


@in_virtual_time
async def test_a_local_server_may_start_a_moment_after_the_run() -> None:
    service = Service(fails=lambda _: NOBODY if now() < 1_002 else None)

    assert not await run(service, 100)
    assert service.answers == 100


@in_virtual_time
async def test_a_service_that_refuses_every_request_is_asked_twenty_times_or_a_few_more() -> None:
    service = Service(fails=lambda _: RequestRefusedError("not this.", provider="svc", status=400))

    failures = await run(service, 500)

    assert failures.total() == 500
    assert service.tries <= 20 + 8
