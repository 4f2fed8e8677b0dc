"""Tries, deadline and accounting, with a service that the test plays, in virtual time."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest
from calling import REQUEST, Calls, FakeProvider
from entries import each
from virtual_time import in_virtual_time

from prompt_evaluator.calls.meter import Meter, RetryEvent
from prompt_evaluator.calls.retry import wait_before_retry
from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    CircuitOpenError,
    DeadlineError,
    RateLimitedError,
    RequestRefusedError,
    StoppedError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import Limits, Price, ProviderSettings

if TYPE_CHECKING:
    from prompt_evaluator.calls.client import Client
    from prompt_evaluator.errors import ProviderError
    from prompt_evaluator.ports import Provider

PRICED = ProviderSettings(kind="test", prices={"m": Price(input=2.0, output=10.0)})


def client(service: Provider, limits: Limits | None = None, calls: Calls | None = None) -> Client:
    return (calls or Calls()).around(service, msgspec.structs.replace(PRICED, limits=limits or Limits()))


def down() -> UnavailableError:
    return UnavailableError("down.", provider="svc", status=503)


def late() -> TimedOutError:
    return TimedOutError("no complete reply within 600 s.", provider="svc")


def failing(count: int) -> list[ProviderError]:
    return [down() for _ in range(count)]


@in_virtual_time
async def test_an_answer_says_how_many_tries_it_took_and_how_many_of_them_timed_out() -> None:
    calls = Calls()
    service = FakeProvider(late(), late())

    answer = await client(service, calls=calls).complete(REQUEST)
    without = await client(FakeProvider(down()), calls=calls).complete(REQUEST)

    assert (answer.text, answer.tries, answer.time_outs, calls.meter.time_outs) == ("hi", 3, 2, 2)
    assert [request.tries for request in service.asked] == [0, 1, 2]
    assert without.tries == 2
    assert b"time_outs" not in msgspec.json.encode(without)  # as it was always stored


LIMITED = RateLimitedError("no.", provider="svc", status=429)
GARBAGE = BadReplyError("garbage.", provider="svc")
REFUSED = RequestRefusedError("no.", provider="svc", status=400)
TRIES: dict[str, tuple[list[ProviderError], int, int, int]] = {
    "as configured": (failing(10), 4, 4, 0),
    "a 429": ([LIMITED] * 10, 6, 6, 0),
    "an unreadable reply": ([GARBAGE] * 10, 6, 3, 0),
    "a refused request": ([REFUSED] * 10, 6, 1, 0),
    "two after a time-out": ([late(), *failing(20)], 20, 3, 1),
    "two after a later time-out": ([*failing(3), late(), *failing(20)], 20, 6, 1),
    "time-outs as configured": ([late() for _ in range(9)], 2, 2, 2),
}


@each(("errors", "most", "tries", "time_outs"), TRIES.values(), ids=TRIES)
@in_virtual_time
async def test_tries_are_finite_and_the_error_says_how_many(
    errors: list[ProviderError], most: int, tries: int, time_outs: int
) -> None:
    service = FakeProvider(*errors)

    said = f"Given up after {tries} tries" if tries > 1 else "no"
    with pytest.raises(type(errors[-1]), match=said) as caught:
        await client(service, Limits(max_tries=most)).complete(REQUEST)

    assert caught.value.tries == len(service.tries) == tries
    assert caught.value.time_outs == time_outs


@in_virtual_time
async def test_a_call_that_is_stopped_after_a_time_out_still_tells_of_it() -> None:
    calls = Calls()
    call = asyncio.create_task(client(FakeProvider(late()), calls=calls).complete(REQUEST))
    await asyncio.sleep(0.1)

    calls.run.stop()

    with pytest.raises(StoppedError) as caught:
        await call
    assert caught.value.time_outs == 1


@in_virtual_time
async def test_a_try_has_ten_minutes_and_a_call_three_times_that() -> None:
    service = FakeProvider()

    await client(service).complete(REQUEST)

    assert service.given == [600]
    assert Limits().deadline == 1_800


@in_virtual_time
async def test_no_try_comes_before_its_retry_after() -> None:
    service = FakeProvider(RateLimitedError("slow down.", provider="svc", retry_after=20))

    await client(service).complete(REQUEST)

    assert 20 <= service.tries[1] - service.tries[0] <= 21


@in_virtual_time
async def test_the_deadline_ends_a_call_that_would_wait_longer() -> None:
    service = FakeProvider(*(down() for _ in range(50)))

    with pytest.raises(DeadlineError, match="the last: down"):
        await client(service, Limits(deadline=20, max_tries=50)).complete(REQUEST)

    assert service.tries[-1] - service.tries[0] < 20


@in_virtual_time
async def test_a_try_gets_no_more_time_than_the_deadline_leaves() -> None:
    service = FakeProvider(down(), down(), seconds=2)

    await client(service, Limits(try_timeout=100, deadline=50)).complete(REQUEST)

    assert service.given[0] == 50
    assert service.given[2] <= 50 - (service.tries[2] - service.tries[0])


@in_virtual_time
async def test_cancelling_takes_effect_while_waiting_for_a_retry() -> None:
    calls = Calls()
    service = FakeProvider(RateLimitedError("slow down.", provider="svc", retry_after=60))
    call = asyncio.create_task(client(service, calls=calls).complete(REQUEST))
    await asyncio.sleep(0.1)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert calls.meter.in_flight == 0


@in_virtual_time
async def test_a_wrong_key_stops_all_further_calls_at_once_and_says_why() -> None:
    service = FakeProvider(AuthenticationError("the key was not accepted (401).", provider="svc", status=401))
    shared = client(service)
    with pytest.raises(AuthenticationError):
        await shared.complete(REQUEST)

    with pytest.raises(CircuitOpenError, match="the key was not accepted"):
        await shared.complete(REQUEST)

    assert len(service.tries) == 1


@in_virtual_time
async def test_one_refusal_among_answers_stops_nothing() -> None:
    service = FakeProvider()
    shared = client(service)
    await shared.complete(REQUEST)
    service.errors.append(AuthenticationError("not this.", provider="svc"))
    with pytest.raises(AuthenticationError):
        await shared.complete(REQUEST)

    assert (await shared.complete(REQUEST)).text == "hi"


@in_virtual_time
async def test_twenty_failures_in_a_row_stop_the_run() -> None:
    shared = client(FakeProvider(*(RequestRefusedError("no.", provider="svc") for _ in range(20))))
    for _ in range(20):
        with pytest.raises(RequestRefusedError):
            await shared.complete(REQUEST)

    with pytest.raises(CircuitOpenError, match="20 failures in a row"):
        await shared.complete(REQUEST)


@in_virtual_time
async def test_the_meter_counts_what_happens() -> None:
    meter = Meter()
    retries: list[RetryEvent] = []
    meter.on_retry = retries.append
    shared = client(FakeProvider(down()), calls=Calls(meter=meter))
    await shared.complete(REQUEST)
    refusing = client(FakeProvider(RequestRefusedError("no.", provider="svc")), calls=Calls(meter=meter))
    with pytest.raises(RequestRefusedError):
        await refusing.complete(REQUEST)

    assert (meter.calls, meter.tries, meter.answers, meter.in_flight) == (2, 3, 1, 0)
    assert meter.retries == {"UnavailableError": 1}
    assert [(event.provider, event.cause) for event in retries] == [("svc", "UnavailableError")]
    assert meter.failures == {"RequestRefusedError": 1}
    assert (meter.input_tokens, meter.output_tokens) == (1_000, 500)
    assert meter.cost == pytest.approx(0.007)


LATER = RateLimitedError("no.", provider="svc", retry_after=20)
WAITS: dict[str, tuple[FakeProvider, Limits, int | None, int, tuple[float, float]]] = {
    "a configured rate": (FakeProvider(), Limits(requests_per_minute=600), None, 13, (0.6, 0.6)),
    "the next try after a 429": (FakeProvider(LATER), Limits(), None, 1, (20, 21)),
    "the next try after an outage": (FakeProvider(down()), Limits(), None, 1, (0, 0)),
    "the next try after a time-out": (FakeProvider(late()), Limits(), None, 1, (0, 0)),
    "other calls at the start": (FakeProvider(seconds=1), Limits(), None, 40, (0, 0)),
    "other calls of our own cap": (FakeProvider(seconds=1), Limits(), 2, 40, (0, 0)),
}


@each(("service", "limits", "cap", "count", "seconds"), WAITS.values(), ids=WAITS)
@in_virtual_time
async def test_waiting_for_what_a_service_takes_is_counted_as_throttled_and_other_waiting_is_not(
    service: FakeProvider, limits: Limits, cap: int | None, count: int, seconds: tuple[float, float]
) -> None:
    calls = Calls(max_concurrency=cap)
    least, most = seconds

    await asyncio.gather(*(client(service, limits, calls).complete(REQUEST) for _ in range(count)))

    assert service.most_at_once < max(count, 2)
    assert least - 1e-9 <= calls.meter.throttled_seconds <= most + 1e-9
    assert (0 < calls.meter.throttled_share <= 1) == (most > 0)


@in_virtual_time
async def test_providers_with_one_key_at_one_endpoint_share_a_limit() -> None:
    calls = Calls(max_concurrency=1)
    service = FakeProvider(seconds=1, endpoint="https://one.example")
    generator, judge = client(service, calls=calls), client(service, calls=calls)

    await asyncio.gather(*(each.complete(REQUEST) for each in (generator, judge) for _ in range(5)))

    assert len(service.tries) == 10
    assert service.most_at_once == 1


@each("asked", [0.2, 1.0, 60.0])
def test_the_wait_is_never_shorter_than_asked_and_hardly_longer(asked: float) -> None:
    waits = [wait_before_retry(1, asked, 0.5, Random(seed)) for seed in range(200)]

    assert min(waits) >= asked
    assert max(waits) <= asked + 1
    assert len(set(waits)) > 100


@each("asked", [None, 0.0])
def test_without_a_wait_in_retry_after_waits_double_up_to_a_limit(asked: float | None) -> None:
    waits = [wait_before_retry(tries, asked, 0.5, Random(1)) for tries in range(1, 12)]

    assert 0.5 <= waits[0] <= 0.75
    assert all(later >= earlier for earlier, later in pairwise(waits))
    assert waits[-1] <= 45
