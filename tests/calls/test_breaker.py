"""An open circuit refuses calls, and finds out by itself when they work again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from calling import REQUEST, Calls, FakeProvider
from fault_server import FaultServer, Received, respond, send
from sockets import bound

from prompt_evaluator.errors import AuthenticationError, CircuitOpenError, ProviderError, StoppedError, UnavailableError
from prompt_evaluator.model import Limits, ProviderSettings
from prompt_evaluator.providers.calls.breaker import Breaker
from prompt_evaluator.providers.calls.shared import SharedCalls
from prompt_evaluator.providers.calls.traits import Traits

if TYPE_CHECKING:
    from typing import Any

SETTINGS = ProviderSettings(kind="test", limits=Limits(first_backoff=0.001))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def wrong_key() -> AuthenticationError:
    return AuthenticationError("wrong key.", provider="svc")


def opened(clock: Clock) -> Breaker:
    breaker = Breaker("svc", clock)
    breaker.failed(wrong_key())
    return breaker


def test_an_open_circuit_refuses_until_its_pause_is_over() -> None:
    clock = Clock()
    breaker = opened(clock)

    clock.now += 29
    with pytest.raises(CircuitOpenError, match="wrong key"):
        breaker.admit()
    clock.now += 2

    assert breaker.admit()


def test_only_one_call_is_let_through_on_trial() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 31
    assert breaker.admit()

    with pytest.raises(CircuitOpenError):
        breaker.admit()


def test_a_trial_that_succeeds_closes_the_circuit() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 31
    breaker.admit()

    breaker.succeeded()

    breaker.check()
    assert not breaker.is_open


def test_a_trial_that_fails_doubles_the_pause_up_to_five_minutes() -> None:
    clock = Clock()
    breaker = opened(clock)
    pauses = []

    for _ in range(6):
        began = clock.now
        while True:
            clock.now += 1
            try:
                breaker.admit()
            except CircuitOpenError:
                continue
            break
        pauses.append(clock.now - began)
        breaker.failed(UnavailableError("still down.", provider="svc"), on_trial=True)

    assert pauses == [30, 60, 120, 240, 300, 300]
    with pytest.raises(CircuitOpenError, match="still down"):
        breaker.check()


def test_a_trial_that_shows_nothing_leaves_the_next_call_to_try() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 31
    breaker.admit()

    breaker.gave_up()

    assert breaker.admit()


def test_failures_of_calls_from_before_do_not_prolong_the_pause() -> None:
    clock = Clock()
    breaker = opened(clock)

    clock.now += 29
    breaker.failed(wrong_key())
    clock.now += 2

    assert breaker.admit()


def test_an_answer_to_a_call_from_before_closes_the_circuit() -> None:
    breaker = opened(Clock())

    breaker.succeeded()

    assert not breaker.is_open


async def test_a_later_run_goes_on_where_an_earlier_one_met_an_open_circuit() -> None:
    clock = Clock()
    shared = SharedCalls(clock=clock)
    provider = FakeProvider(wrong_key())
    first = Calls(shared).around(provider, SETTINGS)
    with pytest.raises(AuthenticationError):
        await first.complete(REQUEST)
    with pytest.raises(CircuitOpenError):
        await first.complete(REQUEST)

    clock.now += 31
    later = Calls(shared).around(provider, SETTINGS)

    assert (await later.complete(REQUEST)).text == "hi"
    assert (await first.complete(REQUEST)).text == "hi"


async def test_a_trial_that_is_stopped_while_it_waits_for_a_retry_gives_up_its_turn() -> None:
    clock = Clock()
    shared = SharedCalls(clock=clock)
    provider = FakeProvider(wrong_key(), UnavailableError("down.", provider="svc", retry_after=60))
    calls = Calls(shared)
    client = calls.around(provider, SETTINGS)
    with pytest.raises(AuthenticationError):
        await client.complete(REQUEST)
    clock.now += 31
    trial = asyncio.create_task(client.complete(REQUEST))
    while not calls.meter.retries:  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0)

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


async def test_each_of_two_hopeless_entries_is_named_in_its_own_errors() -> None:
    calls = Calls()
    async with FaultServer() as server:
        server.handler = only_at_v1
        for name in ("first", "second"):
            entry = calls.open(at(server, base_url=server.url), name)
            with pytest.raises(ProviderError, match=f"^{name}: no such model or address"):
                await entry.complete(REQUEST)
            with pytest.raises(CircuitOpenError, match=f"^{name}: stopped"):
                await entry.complete(REQUEST)
        await calls.close()


def test_entries_with_one_key_at_one_endpoint_share_its_limits_but_no_circuit() -> None:
    shared, here = SharedCalls(), Traits(endpoint="https://one.example")

    assert shared.key_state("a", SETTINGS, here) is shared.key_state("b", SETTINGS, here)
    assert shared.breakers("a", SETTINGS, here) is not shared.breakers("b", SETTINGS, here)
    assert shared.breakers("a", SETTINGS, here) is shared.breakers("a", SETTINGS, here)  # of two runs
