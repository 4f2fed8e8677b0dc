"""Tries, deadline and accounting, with a service that the test plays, in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest
from calling import REQUEST, Calls, FakeProvider
from virtual_time import in_virtual_time

from prompt_evaluator.calls.meter import Meter, RetryEvent
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


@in_virtual_time
async def test_an_answer_after_two_failures_says_it_took_three_tries() -> None:
    service = FakeProvider(down(), down())

    answer = await client(service).complete(REQUEST)

    assert (answer.text, answer.tries) == ("hi", 3)
    assert [request.tries for request in service.asked] == [0, 1, 2]


@in_virtual_time
async def test_tries_are_finite_and_the_error_says_how_many() -> None:
    service = FakeProvider(*(down() for _ in range(10)))

    with pytest.raises(UnavailableError, match="Given up after 4 tries") as caught:
        await client(service, Limits(max_tries=4)).complete(REQUEST)

    assert caught.value.tries == len(service.tries) == 4


@in_virtual_time
async def test_an_unreadable_reply_is_asked_for_three_times_at_most() -> None:
    service = FakeProvider(*(BadReplyError("garbage.", provider="svc") for _ in range(10)))

    with pytest.raises(BadReplyError):
        await client(service).complete(REQUEST)

    assert len(service.tries) == 3


@pytest.mark.parametrize("before", [0, 1, 3])
@in_virtual_time
async def test_after_a_time_out_there_are_two_more_tries_at_most(before: int) -> None:
    service = FakeProvider(*(down() for _ in range(before)), late(), *(down() for _ in range(20)))

    with pytest.raises(UnavailableError, match=f"Given up after {before + 3} tries") as caught:
        await client(service, Limits(max_tries=20)).complete(REQUEST)

    assert len(service.tries) == before + 3
    assert caught.value.time_outs == 1


@in_virtual_time
async def test_a_time_out_does_not_allow_more_tries_than_configured() -> None:
    service = FakeProvider(*(late() for _ in range(9)))

    with pytest.raises(TimedOutError) as caught:
        await client(service, Limits(max_tries=2)).complete(REQUEST)

    assert (len(service.tries), caught.value.time_outs) == (2, 2)


@in_virtual_time
async def test_time_outs_before_an_answer_are_counted_with_it() -> None:
    calls = Calls()

    answer = await client(FakeProvider(late(), late()), calls=calls).complete(REQUEST)

    assert (answer.tries, answer.time_outs, calls.meter.time_outs) == (3, 2, 2)


@in_virtual_time
async def test_an_answer_without_time_outs_is_stored_as_it_always_was() -> None:
    answer = await client(FakeProvider(down())).complete(REQUEST)

    assert answer.tries == 2
    assert b"time_outs" not in msgspec.json.encode(answer)


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
async def test_a_refused_request_is_not_tried_again() -> None:
    service = FakeProvider(RequestRefusedError("no.", provider="svc", status=400))

    with pytest.raises(RequestRefusedError):
        await client(service).complete(REQUEST)

    assert len(service.tries) == 1


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
async def test_calls_that_wait_when_the_circuit_opens_are_not_made() -> None:
    service = FakeProvider(AuthenticationError("wrong key.", provider="svc"))
    shared = client(service, Limits(max_concurrency=1))

    results = await asyncio.gather(*(shared.complete(REQUEST) for _ in range(10)), return_exceptions=True)

    assert len(service.tries) == 1
    assert sum(isinstance(result, CircuitOpenError) for result in results) == 9


@in_virtual_time
async def test_cost_comes_from_the_configured_price() -> None:
    answer = await client(FakeProvider()).complete(REQUEST)

    assert answer.cost == pytest.approx((1_000 * 2.0 + 500 * 10.0) / 1e6)


@in_virtual_time
async def test_cost_is_unknown_when_the_price_is() -> None:
    calls = Calls()

    answer = await calls.around(FakeProvider(), ProviderSettings(kind="test")).complete(REQUEST)

    assert answer.cost is None
    assert calls.meter.unpriced == 1


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


@in_virtual_time
async def test_waiting_for_a_configured_rate_is_counted_as_throttled() -> None:
    calls = Calls()
    shared = client(FakeProvider(), Limits(requests_per_minute=600), calls)

    await asyncio.gather(*(shared.complete(REQUEST) for _ in range(13)))

    assert calls.meter.throttled_seconds == pytest.approx(0.1 + 0.2 + 0.3)
    assert 0 < calls.meter.throttled_share <= 1


@in_virtual_time
async def test_waiting_for_the_next_try_after_a_429_is_counted_as_throttled() -> None:
    calls = Calls()

    await client(FakeProvider(RateLimitedError("no.", provider="svc", retry_after=20)), calls=calls).complete(REQUEST)

    assert calls.meter.throttled_seconds >= 20


@pytest.mark.parametrize("error", [down(), late()], ids=["unavailable", "timed out"])
@in_virtual_time
async def test_waiting_for_the_next_try_after_another_failure_is_not(error: ProviderError) -> None:
    calls = Calls()

    await client(FakeProvider(error), calls=calls).complete(REQUEST)

    assert calls.meter.throttled_seconds == 0


@pytest.mark.parametrize("cap", [None, 2], ids=["our own start-up", "our own cap"])
@in_virtual_time
async def test_waiting_for_other_calls_to_end_is_not_counted_as_throttled(cap: int | None) -> None:
    calls = Calls(max_concurrency=cap)
    service = FakeProvider(seconds=1)

    await asyncio.gather(*(client(service, calls=calls).complete(REQUEST) for _ in range(40)))

    assert service.most_at_once < 40
    assert calls.meter.throttled_seconds == 0


@in_virtual_time
async def test_providers_with_one_key_at_one_endpoint_share_a_limit() -> None:
    calls = Calls(max_concurrency=1)
    service = FakeProvider(seconds=1, endpoint="https://one.example")
    generator, judge = client(service, calls=calls), client(service, calls=calls)

    await asyncio.gather(*(each.complete(REQUEST) for each in (generator, judge) for _ in range(5)))

    assert len(service.tries) == 10
    assert service.most_at_once == 1
