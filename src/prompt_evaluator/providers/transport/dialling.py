"""Host name lookup and TCP connections."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from ipaddress import ip_address
from itertools import count, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    SocketAddress = tuple[int, Any]
    """A family, and an address in the form its sockets take."""

_KNOWN = 60.0
"""Seconds for which a lookup is reused, and for which an address that failed is tried last."""
_ATTEMPT_DELAY = 0.25
"""Seconds before the next address is tried in parallel, as RFC 8305 recommends."""

_OPTIONS = [
    (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
    # A long answer may take minutes, and firewalls and NATs drop connections that are silent for that long.
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 60),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 60),
]


class Found(NamedTuple):
    """Result of a lookup."""

    name: tuple[str, int]
    addresses: list[SocketAddress]
    until: float
    turns: Iterator[int]
    """Counts connections: each one starts with the next address."""


class Dialled(NamedTuple):
    """A connected socket and where it came from."""

    sock: socket.socket
    address: SocketAddress
    found: Found
    known: bool
    """Whether an earlier lookup was reused, so that a new one may give other addresses."""


class Dialler:
    """Looks up each name once for all callers and rotates through its addresses."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._found: dict[tuple[str, int], Found] = {}
        self._look_ups: dict[tuple[str, int], asyncio.Task[Found]] = {}
        self._failed: dict[SocketAddress, float] = {}

    async def dial(self, host: str, port: int) -> Dialled:
        """Connect to the first address that answers. If all cached addresses fail, the name is looked up again.

        Raises:
            OSError: The name cannot be resolved, or none of its addresses answers.
        """
        known = self._found.get((host, port))
        if known is not None and self._clock() < known.until:
            try:
                return Dialled(*await self._race(self._in_order(known)), known, known=True)
            except OSError:
                self._forget(known)  # the name may resolve to other addresses by now
        found = await self._look_up(host, port)
        try:
            return Dialled(*await self._race(self._in_order(found)), found, known=False)
        except OSError:
            self._forget(found)
            raise

    def doubt(self, dialled: Dialled) -> None:
        """Note that the address did not lead to the expected service: the name may have moved."""
        self._forget(dialled.found)
        self._pass_over(dialled.address)

    def close(self) -> None:
        for look_up in self._look_ups.values():
            look_up.cancel()

    def _pass_over(self, address: SocketAddress) -> None:
        """Try this address last for a while."""
        now = self._clock()
        self._failed = {each: until for each, until in self._failed.items() if until > now}
        self._failed[address] = now + _KNOWN

    def _forget(self, found: Found) -> None:
        if self._found.get(found.name) is found:  # not a newer lookup
            del self._found[found.name]

    async def _look_up(self, host: str, port: int) -> Found:
        """Return the addresses of a name. Concurrent callers share one lookup, even if one of them is cancelled."""
        name = (host, port)
        if (found := self._found.get(name)) is not None and self._clock() < found.until:
            return found
        if (task := self._look_ups.get(name)) is None:
            task = asyncio.get_running_loop().create_task(self._ask(host, port))
            self._look_ups[name] = task
            task.add_done_callback(lambda task: self._settle(name, task))
        return await asyncio.shield(task)

    async def _ask(self, host: str, port: int) -> Found:
        return Found((host, port), await _addresses(host, port), self._clock() + _KNOWN, count())

    def _settle(self, name: tuple[str, int], task: asyncio.Task[Found]) -> None:
        del self._look_ups[name]
        if not task.cancelled() and task.exception() is None:
            self._found[name] = task.result()

    def _in_order(self, found: Found) -> list[SocketAddress]:
        """Alternate between families (RFC 8305), each starting with its next address; those that failed come last."""
        if len(found.addresses) == 1:
            return found.addresses
        families: dict[int, list[SocketAddress]] = {}
        for address in found.addresses:
            families.setdefault(address[0], []).append(address)
        turn, now = next(found.turns), self._clock()
        rotated = [each[turn % len(each) :] + each[: turn % len(each)] for each in families.values()]
        mixed = [address for group in zip_longest(*rotated) for address in group if address is not None]
        return sorted(mixed, key=lambda address: self._failed.get(address, 0.0) > now)

    async def _race(self, addresses: list[SocketAddress]) -> tuple[socket.socket, SocketAddress]:
        """Connect to the first address that answers. Each has a head start over the next, until it fails.

        asyncio's own version (`happy_eyeballs_delay`) is not used because it leaks sockets when cancelled.
        """
        if len(addresses) == 1:
            return await _connected(addresses[0]), addresses[0]
        left, attempts = list(addresses), dict[asyncio.Task[socket.socket], "SocketAddress"]()
        failure = OSError("no address")
        try:
            while left or attempts:
                if left:
                    address = left.pop(0)
                    attempts[asyncio.get_running_loop().create_task(_connected(address))] = address
                await asyncio.wait(
                    attempts, timeout=_ATTEMPT_DELAY if left else None, return_when=asyncio.FIRST_COMPLETED
                )
                for attempt in [attempt for attempt in attempts if attempt.done()]:
                    address = attempts.pop(attempt)
                    try:
                        sock = attempt.result()
                    except OSError as error:
                        failure = error
                        self._pass_over(address)
                    else:
                        self._failed.pop(address, None)
                        return sock, address
            raise failure
        finally:
            for attempt, address in attempts.items():
                if not attempt.done():
                    self._pass_over(address)
                    attempt.cancel()
                attempt.add_done_callback(_close_unused)


def reason(error: OSError) -> str:
    """`Connection refused`, where the event loop says `Connect call failed ('127.0.0.1', 9)`."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error) or type(error).__name__


def _close_unused(attempt: asyncio.Task[socket.socket]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


async def _addresses(host: str, port: int) -> list[SocketAddress]:
    with suppress(ValueError):
        family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET  # noqa: PLR2004
        return [(family, (host, port))]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((each[0], each[4]) for each in found))


async def _connected(address: SocketAddress) -> socket.socket:
    family, where = address
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)  # noqa: FBT003 - the standard library's signature
        for level, name, value in _OPTIONS:
            if (option := getattr(socket, name, None)) is not None:  # not available on every system
                sock.setsockopt(level, option, value)
        await asyncio.get_running_loop().sock_connect(sock, where)
    except BaseException:
        sock.close()
        raise
    return sock
