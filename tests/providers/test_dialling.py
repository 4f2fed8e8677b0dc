"""From a name to a connected socket: one look-up, addresses in turn, and a race between them."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from sockets import bound, family_of

from prompt_evaluator.providers.transport.dialling import Dialler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

FOUR = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
SIX = "::1"


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Network:
    """Where `name.test` leads, and who listens there, all on one port."""

    def __init__(self, port: int, stack: ExitStack) -> None:
        self.hosts: list[str] = []
        self.asked = 0
        self.tried: list[str] = []
        self.error: OSError | None = None
        self.answer = asyncio.Event()
        self.answer.set()
        self.port, self._stack, self._loop = port, stack, asyncio.get_running_loop()
        self._listeners: dict[str, ExitStack] = {}

    def listen(self, *hosts: str) -> None:
        for host in hosts:
            sock = bound(host, self.port)
            sock.listen(256)
            self._hold(host).enter_context(sock)

    def be_silent(self, host: str) -> None:
        """Neither take a connection nor refuse it."""
        sock = bound(host, self.port)
        sock.listen(0)
        stack = self._hold(host)
        stack.enter_context(sock)
        for _ in range(4):
            filler = stack.enter_context(socket.socket(family_of(host)))
            filler.settimeout(0)
            filler.connect_ex((host, self.port))

    def stop(self, host: str) -> None:
        self._listeners.pop(host).close()

    async def look_up(self, host: str, port: int, **_: object) -> list[tuple[Any, ...]]:
        assert host == "name.test"
        self.asked += 1
        await self.answer.wait()
        if self.error:
            raise self.error
        return [(family_of(each), socket.SOCK_STREAM, 6, "", (each, port)) for each in self.hosts]

    async def connect(self, sock: socket.socket, address: tuple[str, int]) -> None:
        self.tried.append(address[0])
        await type(self._loop).sock_connect(self._loop, sock, address)

    def _hold(self, host: str) -> ExitStack:
        return self._listeners.setdefault(host, self._stack.enter_context(ExitStack()))


@pytest.fixture
async def network(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Network]:
    with ExitStack() as stack:
        while True:
            with suppress(OSError), ExitStack() as tried:
                port = tried.enter_context(bound("127.0.0.1", 0)).getsockname()[1]
                for host in (*FOUR[1:], SIX):
                    tried.enter_context(bound(host, port))
                break
        found = Network(port, stack)
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found.look_up)
        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", found.connect)
        yield found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def dialler(clock: Clock) -> Dialler:
    return Dialler(clock)


async def reached(dialler: Dialler, network: Network, count: int = 1) -> list[str]:
    """The addresses that so many connections lead to, made at once."""
    dialled = await asyncio.gather(*(dialler.dial("name.test", network.port) for _ in range(count)))
    for each in dialled:
        each.sock.close()
    return [each.address[1][0] for each in dialled]


async def test_a_hundred_connections_at_once_need_one_look_up(dialler: Dialler, network: Network) -> None:
    network.hosts = FOUR
    network.listen(*FOUR)

    await reached(dialler, network, 100)

    assert network.asked == 1


async def test_the_addresses_of_a_name_are_taken_in_turn(dialler: Dialler, network: Network) -> None:
    network.hosts = FOUR
    network.listen(*FOUR)

    counts = Counter(await reached(dialler, network, 99))

    assert counts == dict.fromkeys(FOUR, 33)


async def test_the_family_that_the_system_prefers_comes_first(dialler: Dialler, network: Network) -> None:
    network.hosts = [SIX, *FOUR]
    network.listen(SIX, *FOUR)

    assert set(await reached(dialler, network, 12)) == {SIX}


async def test_a_look_up_is_good_for_a_minute(dialler: Dialler, network: Network, clock: Clock) -> None:
    network.hosts = FOUR
    network.listen(*FOUR)
    await reached(dialler, network)
    clock.now += 59
    await reached(dialler, network)
    assert network.asked == 1

    clock.now += 2
    await reached(dialler, network)
    assert network.asked == 2


async def test_an_address_that_refuses_is_passed_over_for_a_minute(
    dialler: Dialler, network: Network, clock: Clock
) -> None:
    network.hosts = FOUR
    network.listen(*FOUR[1:])
    assert set(await reached(dialler, network, 30)) == set(FOUR[1:])

    network.listen(FOUR[0])
    assert FOUR[0] not in await reached(dialler, network, 30)

    clock.now += 61
    assert FOUR[0] in await reached(dialler, network, 30)
    assert network.asked == 2


async def test_an_address_that_is_silent_is_passed_over_by_the_next_connections(
    dialler: Dialler, network: Network
) -> None:
    network.hosts = [SIX, FOUR[0]]
    network.be_silent(SIX)
    network.listen(FOUR[0])
    assert await reached(dialler, network) == [FOUR[0]]

    network.tried.clear()
    assert await reached(dialler, network, 20) == [FOUR[0]] * 20
    assert set(network.tried) == {FOUR[0]}


async def test_the_other_family_is_tried_second_however_many_addresses_the_first_has(
    dialler: Dialler, network: Network
) -> None:
    network.hosts = [*FOUR, SIX]
    for host in FOUR:
        network.be_silent(host)
    network.listen(SIX)

    assert await reached(dialler, network) == [SIX]
    assert network.tried == [FOUR[0], SIX]


async def test_a_name_that_has_moved_is_looked_up_again_at_once(dialler: Dialler, network: Network) -> None:
    network.hosts = [FOUR[0]]
    network.listen(FOUR[0])
    await reached(dialler, network)
    network.stop(FOUR[0])
    network.hosts = [FOUR[1]]
    network.listen(FOUR[1])

    assert set(await reached(dialler, network, 20)) == {FOUR[1]}
    assert network.asked == 2


async def test_when_every_address_refuses_the_last_refusal_is_the_error(dialler: Dialler, network: Network) -> None:
    network.hosts = FOUR

    outcomes = await asyncio.gather(
        *(dialler.dial("name.test", network.port) for _ in range(20)), return_exceptions=True
    )

    assert {type(outcome) for outcome in outcomes} == {ConnectionRefusedError}
    assert network.asked == 1


async def test_a_failed_look_up_is_shared_and_not_remembered(dialler: Dialler, network: Network) -> None:
    network.error = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    outcomes = await asyncio.gather(
        *(dialler.dial("name.test", network.port) for _ in range(20)), return_exceptions=True
    )
    assert {type(outcome) for outcome in outcomes} == {socket.gaierror}
    assert network.asked == 1

    network.error, network.hosts = None, FOUR
    network.listen(*FOUR)
    assert await reached(dialler, network)


async def test_a_caller_that_gives_up_on_a_lookup_does_not_end_it_for_others(
    dialler: Dialler, network: Network
) -> None:
    network.hosts = FOUR
    network.listen(*FOUR)
    network.answer.clear()
    first = asyncio.create_task(dialler.dial("name.test", network.port))
    second = asyncio.create_task(dialler.dial("name.test", network.port))
    await asyncio.sleep(0.01)
    first.cancel()
    network.answer.set()

    (await second).sock.close()
    assert first.cancelled()
    assert network.asked == 1


async def test_closing_ends_a_lookup_in_progress(dialler: Dialler, network: Network) -> None:
    network.answer.clear()
    call = asyncio.create_task(dialler.dial("name.test", network.port))
    await asyncio.sleep(0.01)
    dialler.close()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_race_that_is_cancelled_at_any_moment_leaves_no_socket_behind(network: Network, clock: Clock) -> None:
    network.hosts = [*FOUR, SIX]
    network.listen(*FOUR, SIX)
    with no_socket_is_lost():
        for turns in range(30):
            dialler = Dialler(clock)
            calls = [asyncio.create_task(dialler.dial("name.test", network.port)) for _ in range(3)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            for outcome in await asyncio.gather(*calls, return_exceptions=True):
                if not isinstance(outcome, BaseException):
                    outcome.sock.close()
        for _ in range(5):
            await asyncio.sleep(0)


@contextmanager
def no_socket_is_lost() -> Iterator[None]:
    """A socket that nobody closes is a warning, and a warning is an error in these tests."""
    yield
    gc.collect()


async def test_a_connection_sends_small_parts_at_once_and_is_kept_alive(dialler: Dialler, network: Network) -> None:
    network.hosts = FOUR
    network.listen(*FOUR)
    with (await dialler.dial("name.test", network.port)).sock as sock:
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
