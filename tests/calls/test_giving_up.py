"""A model that answers nothing ends the run after a time that tries are counted by, and nobody else's run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from calling import ANSWER, REQUEST, Calls

from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    CircuitOpenError,
    ConnectionFailedError,
    ProviderError,
    RateLimitedError,
    RequestRefusedError,
    TimedOutError,
    UnavailableError,
    UnreachableError,
)
from prompt_evaluator.model import Answer, Limits, Message, ProviderSettings, Request
from prompt_evaluator.providers.calls.breaker import Breaker
from prompt_evaluator.providers.calls.shared import SharedCalls
from prompt_evaluator.providers.calls.traits import Traits

ALL = [RateLimitedError, UnavailableError, ConnectionFailedError, TimedOutError, BadReplyError]


class Service:
    """A breaker, and tries that fail by a clock of the test's own."""

    def __init__(self, give_up_after: float = 120.0) -> None:
        self.now, self._give_up_after = 1_000.0, give_up_after
        self.breaker = Breaker("svc", lambda: self.now, asked="m at https://svc.example")

    def fails(
        self,
        kind: type[ProviderError] = RateLimitedError,
        *,
        after: float = 0.0,
        took: float = 0.0,
        retry_after: float | None = None,
        question: object = None,
    ) -> bool:
        """A try ends `after` seconds from now, and the circuit is open or not."""
        self.now += after
        error = kind("no.", provider="svc", status=429, retry_after=retry_after)
        asked = question if question is not None else self.now  # another one each time
        self.breaker.try_failed(error, asked, took=took, give_up_after=self._give_up_after)
        return self.breaker.is_open


@pytest.mark.parametrize("kind", ALL)
def test_nothing_but_failures_for_two_minutes_opens_the_circuit(kind: type[ProviderError]) -> None:
    service = Service()

    ends = [service.fails(kind, after=10, took=1) for _ in range(13)]

    assert ends == [False] * 12 + [True]


def test_the_reason_says_who_what_and_for_how_long() -> None:
    service = Service()
    for kind in (RateLimitedError, TimedOutError) * 6 + (RateLimitedError,):
        service.fails(kind, after=10)

    with pytest.raises(CircuitOpenError) as caught:
        service.breaker.check()

    assert str(caught.value).startswith(
        "svc: stopped, because m at https://svc.example has not answered for 120 s "
        "(13 tries: 7 rate limited, 6 timed out). The last: no."
    )
    assert caught.value.status == 429


def test_an_answer_now_and_then_keeps_the_circuit_closed() -> None:
    service = Service()

    for _ in range(50):
        assert not any(service.fails(after=10) for _ in range(11))
        service.breaker.succeeded()


def test_tries_in_flight_that_have_not_failed_open_nothing() -> None:
    service = Service()

    service.now += 10_000
    assert not service.fails(TimedOutError, took=10_000)  # the first one starts the clock when it ends
    assert not service.fails(TimedOutError, took=10_000)
    assert not service.fails(TimedOutError, took=10_000)


def test_time_outs_of_several_calls_one_after_the_other_open_the_circuit() -> None:
    service = Service()
    assert not any(service.fails(TimedOutError, after=0.01, took=600) for _ in range(8))

    assert service.fails(TimedOutError, after=601, took=600)


@pytest.mark.parametrize("kind", [TimedOutError, UnavailableError, BadReplyError, ConnectionFailedError])
def test_a_question_or_two_that_nobody_can_answer_do_not_end_the_run(kind: type[ProviderError]) -> None:
    service = Service()

    for question in ("one", "another"):
        assert not any(service.fails(kind, after=60, took=60, question=question) for _ in range(30))

    assert service.fails(kind, after=60, took=60, question="a third")


def test_one_question_is_enough_where_the_service_only_says_429() -> None:
    service = Service()

    assert any(service.fails(after=20, question="the same") for _ in range(8))


def test_an_idle_run_or_a_sleeping_machine_is_not_a_silent_service() -> None:
    service = Service()

    assert not service.fails()
    assert not service.fails(after=8 * 3_600)
    assert not service.fails(after=8 * 3_600)
    assert not service.fails(after=8 * 3_600)


def test_a_wait_that_was_asked_for_and_is_shorter_than_the_bound_is_waited_for() -> None:
    service = Service()

    assert not service.fails(retry_after=90)
    assert not service.fails(after=91)
    service.breaker.succeeded()

    assert not service.fails(retry_after=90)


def test_waits_that_were_asked_for_count_as_time_without_an_answer() -> None:
    service = Service()

    assert [service.fails(after=after, retry_after=40) for after in (0, 41, 41)] == [False, False, True]


def test_a_wait_that_would_end_after_the_bound_is_not_waited_for() -> None:
    service = Service(give_up_after=3)

    assert [service.fails(after=after, retry_after=2.9) for after in (0, 2.95)] == [False, True]
    with pytest.raises(CircuitOpenError, match=r"not answered for 3 s \(2 tries.*\) and asks to wait 2.9 s more[.]"):
        service.breaker.check()


def test_of_several_calls_that_wait_the_first_to_be_tried_again_counts() -> None:
    service = Service()

    assert not any(service.fails(after=10, retry_after=100) for _ in range(9))
    assert service.fails(after=20, retry_after=100)


def test_a_call_that_nobody_asked_to_wait_is_tried_again_before_the_run_is_given_up() -> None:
    service = Service()

    assert not any(service.fails(UnavailableError, after=10) for _ in range(4))
    assert not service.fails(after=1, retry_after=100)


def test_a_wait_longer_than_the_bound_ends_the_run_at_once_and_says_when_to_come_back() -> None:
    service = Service()

    assert service.fails(retry_after=3_600)

    with pytest.raises(CircuitOpenError, match=r"asks to wait 3,600 s.*Try again after 20\d\d-\d\d-\d\d \d\d:\d\d UTC"):
        service.breaker.check()


@pytest.mark.parametrize("seconds", [1e9, 1e300])
def test_an_absurd_wait_is_still_a_sentence(seconds: float) -> None:
    service = Service()

    service.fails(retry_after=seconds)

    with pytest.raises(CircuitOpenError, match="in some months"):
        service.breaker.check()


def test_where_there_were_answers_it_takes_three_of_them_in_a_row() -> None:
    service = Service()
    for _ in range(5):
        service.breaker.succeeded()
        assert not service.fails(retry_after=3_600)
        assert not service.fails(retry_after=3_600)
    service.breaker.succeeded()

    assert [service.fails(retry_after=3_600) for _ in range(3)] == [False, False, True]


class Server:
    """A provider that fails for some models with what it is told, for others not at all."""

    name = "svc"
    endpoint = "https://svc.example"

    def __init__(self, errors: dict[str, ProviderError]) -> None:
        self.errors, self.asked = errors, 0

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ARG002, ASYNC109
        self.asked += 1
        if error := self.errors.get(request.model):
            raise type(error)("no.", provider="svc", status=error.status, retry_after=error.retry_after)
        return ANSWER

    async def close(self) -> None:
        """There is nothing to let go of."""


def limited(retry_after: float | None = None) -> RateLimitedError:
    return RateLimitedError("no.", provider="svc", status=429, retry_after=retry_after)


def asking(model: str, number: int = 0) -> Request:
    return Request(model=model, messages=(Message("user", f"hello {number}"),))


def entry(**limits: Any) -> ProviderSettings:
    return ProviderSettings(kind="test", limits=Limits(**{"give_up_after": 0.2, "first_backoff": 0.02, **limits}))


@pytest.mark.parametrize("retry_after", [None, 0.05])
async def test_a_judge_that_only_says_429_is_given_up_though_the_generator_answers(retry_after: float | None) -> None:
    calls = Calls()
    server = Server({"judge": limited(retry_after)})
    generator = calls.around(server, entry())
    judge = calls.around(server, entry(max_tries=100), urgent=True)
    given_up = asyncio.Event()

    async def generate() -> None:
        while not given_up.is_set():
            await generator.complete(asking("generator"))
            await asyncio.sleep(0.01)

    generating = asyncio.create_task(generate())
    with pytest.raises(CircuitOpenError, match=r"judge at https://svc[.]example has not answered"):
        await judge.complete(asking("judge"))
    given_up.set()
    await generating

    assert (await generator.complete(asking("generator"))).text == "hi"


async def test_calls_that_are_told_429_beside_others_go_on_until_the_model_is_given_up() -> None:
    server = Server({"m": limited()})
    client = Calls().around(server, entry(give_up_after=0.5, max_tries=2, max_concurrency=8))

    results = await asyncio.gather(*(client.complete(asking("m", at)) for at in range(5)), return_exceptions=True)

    assert sum(isinstance(result, CircuitOpenError) for result in results) >= 3
    assert server.asked > 10


async def test_a_call_that_is_alone_with_its_429_has_no_more_tries_than_configured() -> None:
    server = Server({"m": limited()})

    with pytest.raises(RateLimitedError, match="Given up after 2 tries"):
        await Calls().around(server, entry(give_up_after=60, max_tries=2)).complete(REQUEST)

    assert server.asked == 2


async def test_generator_and_judge_of_one_model_are_told_apart() -> None:
    calls = Calls()
    server = Server({"m": limited(3_600)})
    judge = calls.around(server, entry(), urgent=True)
    with pytest.raises(CircuitOpenError):
        await judge.complete(REQUEST)
    server.errors.clear()

    assert (await calls.around(server, entry()).complete(REQUEST)).text == "hi"
    with pytest.raises(CircuitOpenError):
        await judge.complete(REQUEST)


@pytest.mark.parametrize("urgent", [True, False])
async def test_calls_that_wait_for_a_retry_or_a_place_are_woken_when_the_circuit_opens(urgent: bool) -> None:  # noqa: FBT001
    calls = Calls()
    server = Server({"m": limited(60)})
    settings = entry(give_up_after=100, max_concurrency=4)
    client = calls.around(server, settings, urgent=urgent)
    waiting = [asyncio.create_task(client.complete(asking("m", number))) for number in range(12)]
    while calls.meter.retries.total() < 3:  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0)
    breakers = calls.shared.breakers("svc", settings, Traits.of(server))

    breakers.of("m", urgent=urgent).failed(AuthenticationError("wrong key.", provider="svc"))
    results = await asyncio.gather(*waiting, return_exceptions=True)

    assert {type(result) for result in results} == {CircuitOpenError}


async def test_a_refusal_is_final_although_the_circuit_has_opened_meanwhile() -> None:
    shared = SharedCalls()
    calls = Calls(shared)
    opened = asyncio.Event()

    class Slow(Server):
        async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109
            if request.messages[0].content == "hello 1":
                await opened.wait()
                raise RequestRefusedError("not this.", provider="svc", status=400)
            return await super().answer(request, timeout)

    client = calls.around(Slow({"m": limited(3_600)}), entry())
    refused = asyncio.create_task(client.complete(asking("m", 1)))
    await asyncio.sleep(0)
    with pytest.raises(CircuitOpenError):
        await client.complete(asking("m", 2))
    opened.set()

    with pytest.raises(RequestRefusedError):
        await refused


class Unreachable(Service):
    """A service that no connection was ever made to."""

    def misses(self, *, after: float = 0.0, took: float = 0.0, question: object = "the same") -> bool:
        return self.fails(UnreachableError, after=after, took=took, question=question)


def test_a_service_that_was_never_reached_is_given_up_after_three_seconds() -> None:
    service = Unreachable()

    assert [service.misses(after=after) for after in (0, 0.6, 1.2, 2.4)] == [False, False, False, True]
    with pytest.raises(CircuitOpenError, match=r"m at https://svc[.]example could not be reached: no[.] Check that"):
        service.breaker.check()


def test_one_connection_that_timed_out_is_enough_where_none_was_ever_made() -> None:
    assert Unreachable().misses(after=30, took=30)


@pytest.mark.parametrize("kind", [UnavailableError, ConnectionFailedError, TimedOutError, BadReplyError])
def test_a_service_that_was_reached_before_is_tried_on_when_it_goes_away(kind: type[ProviderError]) -> None:
    service = Unreachable()
    service.fails(kind)

    assert not any(service.misses(after=10, question=at) for at in range(11))
    assert service.misses(after=10)


def test_a_service_that_has_answered_before_is_tried_on_when_it_goes_away() -> None:
    service = Unreachable()
    service.breaker.succeeded()

    assert not any(service.misses(after=10, question=at) for at in range(12))


async def test_a_judge_is_tried_on_where_the_generator_has_reached_the_same_service() -> None:
    calls = Calls()
    server = Server({"judge": UnreachableError("no.", provider="svc")})
    await calls.around(server, entry(max_tries=3)).complete(asking("generator"))

    with pytest.raises(UnreachableError, match="Given up after 3 tries"):
        await calls.around(server, entry(max_tries=3), urgent=True).complete(asking("judge"))
    breakers = calls.shared.breakers("svc", entry(max_tries=3), Traits.of(server))

    assert not breakers.of("judge", urgent=True).is_open


async def test_a_call_that_never_reached_the_service_in_all_its_tries_ends_the_run() -> None:
    server = Server({"m": UnreachableError("no.", provider="svc")})
    client = Calls().around(server, entry(max_tries=1))
    with pytest.raises(UnreachableError):
        await client.complete(asking("m", 1))

    with pytest.raises(CircuitOpenError, match="could not be reached"):
        await client.complete(asking("m", 2))


async def test_calls_wait_for_others_to_reach_a_service_that_is_in_doubt_and_go_on_when_it_is_there() -> None:
    server = Server({"m": UnreachableError("no.", provider="svc")})
    calls = Calls()
    client = calls.around(server, entry(first_backoff=0.2, max_concurrency=4))
    waiting = [asyncio.create_task(client.complete(asking("m", number))) for number in range(40)]
    while calls.meter.retries.total() < 4:  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)

    assert server.asked == 4
    server.errors.clear()
    answers = await asyncio.gather(*waiting)
    assert [answer.text for answer in answers] == ["hi"] * 40
    assert server.asked == 44
