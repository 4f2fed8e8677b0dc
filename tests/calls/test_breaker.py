"""Calls that cannot be expected to succeed are not made; the circuit finds out by itself when they work again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from calling import REQUEST, Calls, FakeProvider, asking
from entries import each
from fault_server import FaultServer, Received, respond, send
from sockets import bound
from virtual_time import in_virtual_time

from prompt_evaluator.calls.breaker import Breaker
from prompt_evaluator.calls.client import Traits
from prompt_evaluator.calls.runs import SharedCalls
from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    CircuitOpenError,
    ConnectionFailedError,
    ProviderError,
    RateLimitedError,
    RequestRefusedError,
    StoppedError,
    TimedOutError,
    UnavailableError,
    UnreachableError,
)
from prompt_evaluator.model import Answer, Limits, ProviderSettings, Request

if TYPE_CHECKING:
    from collections.abc import Callable

SETTINGS = ProviderSettings(kind="test")
ALL = [RateLimitedError, UnavailableError, ConnectionFailedError, TimedOutError, BadReplyError]


def wrong_key() -> AuthenticationError:
    return AuthenticationError("wrong key.", provider="svc")


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

    def opened(self) -> Breaker:
        self.breaker.failed(wrong_key())
        return self.breaker


def test_an_open_circuit_refuses_until_its_pause_is_over_and_lets_one_call_after_the_other_through_on_trial() -> None:
    service = Service()
    breaker = service.opened()

    service.now += 29
    breaker.failed(wrong_key())  # a call from before does not prolong the pause
    with pytest.raises(CircuitOpenError, match="wrong key"):
        breaker.admit()
    service.now += 2

    assert breaker.admit()
    with pytest.raises(CircuitOpenError):
        breaker.admit()
    breaker.gave_up()  # it has shown nothing
    assert breaker.admit()


@each("on_trial", [True, False])
def test_an_answer_on_trial_closes_the_circuit_and_so_does_one_to_a_call_from_before(*, on_trial: bool) -> None:
    service = Service()
    breaker = service.opened()
    if on_trial:
        service.now += 31
        breaker.admit()

    breaker.succeeded()

    assert not breaker.is_open


def test_a_trial_that_fails_doubles_the_pause_up_to_five_minutes() -> None:
    service = Service()
    breaker = service.opened()
    pauses = []

    for _ in range(6):
        began = service.now
        while True:
            service.now += 1
            try:
                breaker.admit()
            except CircuitOpenError:
                continue
            break
        pauses.append(service.now - began)
        breaker.failed(UnavailableError("still down.", provider="svc"), on_trial=True)

    assert pauses == [30, 60, 120, 240, 300, 300]
    with pytest.raises(CircuitOpenError, match="still down"):
        breaker.check()


@each("kind", ALL)
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


def test_the_time_is_counted_from_the_end_of_the_first_failed_try() -> None:
    service = Service()
    assert not any(service.fails(TimedOutError, after=0.01, took=600) for _ in range(8))

    assert service.fails(TimedOutError, after=601, took=600)


@each("kind", [TimedOutError, UnavailableError, BadReplyError, ConnectionFailedError])
def test_a_question_or_two_that_nobody_can_answer_do_not_end_the_run(kind: type[ProviderError]) -> None:
    service = Service()

    for question in ("one", "another"):
        assert not any(service.fails(kind, after=60, took=60, question=question) for _ in range(30))

    assert service.fails(kind, after=60, took=60, question="a third")


def test_one_question_is_enough_where_the_service_only_says_429() -> None:
    service = Service()
    service.breaker.succeeded()

    assert any(service.fails(after=20, question="the same") for _ in range(8))


def test_an_idle_run_or_a_sleeping_machine_is_not_a_silent_service() -> None:
    service = Service()

    assert not service.fails()
    assert not any(service.fails(after=8 * 3_600) for _ in range(3))


def test_waits_that_were_asked_for_count_as_time_without_an_answer() -> None:
    service = Service()

    assert [service.fails(after=after, retry_after=35) for after in (0, 36, 36, 36)] == [False, False, False, True]


def test_a_wait_that_would_end_too_late_is_not_waited_for() -> None:
    service = Service(give_up_after=3)

    assert [service.fails(after=after, retry_after=2) for after in (0, 2.1)] == [False, True]
    with pytest.raises(CircuitOpenError, match=r"not answered for 2 s \(2 tries.*\) and asks to wait 2 s more[.]"):
        service.breaker.check()


@each("seconds", [3_600, 1e9, 1e300])
def test_a_wait_of_hours_ends_the_run_at_once_and_says_when_to_come_back(seconds: float) -> None:
    service = Service()

    assert service.fails(retry_after=seconds)

    with pytest.raises(CircuitOpenError, match=r"asks to wait [\d,]+ s.*Try again after 20\d\d-\d\d-\d\d \d\d:\d\d"):
        service.breaker.check()


def test_where_there_were_answers_it_takes_three_of_them_in_a_row() -> None:
    service = Service()
    for _ in range(5):
        service.breaker.succeeded()
        assert not service.fails(retry_after=3_600, question=1)
        assert not service.fails(retry_after=3_600, question=2)
    service.breaker.succeeded()

    assert [service.fails(retry_after=3_600, question=question) for question in range(3)] == [False, False, True]


def test_a_service_that_was_never_reached_is_given_up_after_three_seconds() -> None:
    service = Service()

    ends = [service.fails(UnreachableError, after=after, question="the same") for after in (0, 0.6, 1.2, 2.4)]

    assert ends == [False, False, False, True]
    with pytest.raises(CircuitOpenError, match=r"m at https://svc[.]example could not be reached: no[.] Check that"):
        service.breaker.check()


@each("kind", [None, UnavailableError, ConnectionFailedError, TimedOutError, BadReplyError])
def test_a_service_that_was_reached_before_is_tried_on_when_it_goes_away(kind: type[ProviderError] | None) -> None:
    service = Service()
    if kind is None:
        service.breaker.succeeded()
        service.fails(UnreachableError)
    else:
        service.fails(kind)

    assert not any(service.fails(UnreachableError, after=10) for _ in range(11))
    assert service.fails(UnreachableError, after=10)


class Server(FakeProvider):
    """Fails for some models with what it is told, for others not at all."""

    def __init__(self, fails: dict[str, Callable[[], ProviderError]]) -> None:
        super().__init__(seconds=0.1, endpoint="https://svc.example")
        self.fails = fails

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109
        answer = await super().answer(request, timeout)
        if error := self.fails.get(request.model):
            raise error()
        return answer


def limited(retry_after: float | None = None) -> Callable[[], ProviderError]:
    return lambda: RateLimitedError("no.", provider="svc", status=429, retry_after=retry_after)


def unreachable() -> ProviderError:
    return UnreachableError("no.", provider="svc")


def entry(**limits: Any) -> ProviderSettings:
    return ProviderSettings(kind="test", limits=Limits(**limits))


@each("retry_after", [None, 5])
@in_virtual_time
async def test_a_judge_that_only_says_429_is_given_up_though_the_generator_answers(retry_after: float | None) -> None:
    calls = Calls()
    server = Server({"judge": limited(retry_after)})
    generator, judge = calls.around(server, entry()), calls.around(server, entry(), urgent=True)
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def sample(number: int) -> None:
        await generator.complete(asking(number, "generator"))
        await judge.complete(asking(number, "judge"))

    results = await asyncio.gather(*(sample(number) for number in range(20)), return_exceptions=True)

    assert {type(result) for result in results} == {CircuitOpenError}
    assert 100 < loop.time() - began < 130
    assert (await generator.complete(asking(1, "generator"))).text == "hi"


@in_virtual_time
async def test_generator_and_judge_of_one_model_are_told_apart() -> None:
    calls = Calls()
    server = Server({"m": limited(3_600)})
    judge = calls.around(server, entry(), urgent=True)
    with pytest.raises(CircuitOpenError):
        await judge.complete(REQUEST)
    server.fails.clear()

    assert (await calls.around(server, entry()).complete(REQUEST)).text == "hi"
    with pytest.raises(CircuitOpenError):
        await judge.complete(REQUEST)


@each("urgent", [True, False])
@in_virtual_time
async def test_calls_that_wait_for_a_retry_or_a_place_are_woken_when_the_circuit_opens_and_not_made(
    *, urgent: bool
) -> None:
    calls = Calls()
    server = Server({"m": limited(60)})
    settings = entry(max_concurrency=4)
    client = calls.around(server, settings, urgent=urgent)
    waiting = [asyncio.create_task(client.complete(asking(number))) for number in range(12)]
    await asyncio.sleep(1)

    breaker = calls.shared.breaker("svc", settings, Traits.of(server), "m", urgent=urgent)
    made = len(server.tries)
    breaker.failed(wrong_key())
    results = await asyncio.gather(*waiting, return_exceptions=True)

    assert {type(result) for result in results} == {CircuitOpenError}
    assert len(server.tries) == made < 12


@in_virtual_time
async def test_a_refusal_is_final_although_the_circuit_has_opened_meanwhile() -> None:
    class Slow(Server):
        async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109
            if request.messages == asking(1).messages:
                await asyncio.sleep(50)
                raise RequestRefusedError("not this.", provider="svc", status=400)
            return await super().answer(request, timeout)

    client = Calls().around(Slow({"m": limited(3_600)}), entry())
    refused = asyncio.create_task(client.complete(asking(1)))
    with pytest.raises(CircuitOpenError):
        await client.complete(asking(2))

    with pytest.raises(RequestRefusedError):
        await refused


@in_virtual_time
async def test_a_call_that_never_reached_the_service_in_all_its_tries_ends_the_run() -> None:
    client = Calls().around(Server({"m": unreachable}), entry(max_tries=1))
    with pytest.raises(UnreachableError):
        await client.complete(asking(1))

    with pytest.raises(CircuitOpenError, match="could not be reached"):
        await client.complete(asking(2))


@in_virtual_time
async def test_a_later_run_goes_on_where_an_earlier_one_met_an_open_circuit() -> None:
    shared = SharedCalls(asyncio.get_running_loop().time)
    provider = FakeProvider(wrong_key())
    first = Calls(shared).around(provider, SETTINGS)
    with pytest.raises(AuthenticationError):
        await first.complete(REQUEST)
    with pytest.raises(CircuitOpenError):
        await first.complete(REQUEST)

    await asyncio.sleep(31)
    later = Calls(shared).around(provider, SETTINGS)

    assert (await later.complete(REQUEST)).text == "hi"
    assert (await first.complete(REQUEST)).text == "hi"


@in_virtual_time
async def test_a_trial_that_is_stopped_while_it_waits_for_a_retry_gives_up_its_turn() -> None:
    shared = SharedCalls(asyncio.get_running_loop().time)
    provider = FakeProvider(wrong_key(), UnavailableError("down.", provider="svc", retry_after=60))
    calls = Calls(shared)
    client = calls.around(provider, SETTINGS)
    with pytest.raises(AuthenticationError):
        await client.complete(REQUEST)
    await asyncio.sleep(31)
    trial = asyncio.create_task(client.complete(REQUEST))
    await asyncio.sleep(1)

    calls.run.stop()
    with pytest.raises(StoppedError):
        await trial

    assert (await Calls(shared).around(provider, SETTINGS).complete(REQUEST)).text == "hi"


async def only_at_v1(server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
    if request.path.startswith("/v1/") and "x-team" in request.headers:
        await respond(server, request, writer)
    else:
        send(writer, {"error": {"message": "nothing here"}}, status=404)


def at(server: FaultServer, **changes: Any) -> ProviderSettings:
    usual = {"kind": "openai", "base_url": f"{server.url}/v1", "headers": {"X-Team": "a"}, "key_required": False}
    return ProviderSettings(**{**usual, "limits": Limits(max_tries=1), **changes})


@pytest.mark.parametrize("differs", ["path", "headers", "proxy"])
async def test_a_hopeless_entry_does_not_stop_another_at_the_same_host_with_the_same_key(differs: str) -> None:
    calls = Calls()
    async with FaultServer() as server:
        server.handler = only_at_v1
        with bound("127.0.0.1", 0) as nobody:
            wrong: dict[str, dict[str, Any]] = {
                "path": {"base_url": f"{server.url}/v2"},
                "headers": {"headers": {}},
                "proxy": {"proxy": f"http://127.0.0.1:{nobody.getsockname()[1]}"},
            }
            hopeless, healthy = calls.open(at(server, **wrong[differs]), "hopeless"), calls.open(at(server), "healthy")
            with pytest.raises(ProviderError, match=r"^hopeless: "):
                await hopeless.complete(REQUEST)
            with pytest.raises(CircuitOpenError, match=r"^hopeless: stopped"):
                await hopeless.complete(REQUEST)

        assert (await healthy.complete(REQUEST)).text == server.answer
        await calls.close()


def test_entries_with_one_key_at_one_endpoint_share_its_limits_but_no_circuit() -> None:
    shared, here = SharedCalls(), Traits(endpoint="https://one.example")

    def breaker(name: str) -> Breaker:
        return shared.breaker(name, SETTINGS, here, "m", urgent=False)

    assert shared.governor("a", SETTINGS, here) is shared.governor("b", SETTINGS, here)
    assert breaker("a") is not breaker("b")
    assert breaker("a") is breaker("a")  # of two runs
