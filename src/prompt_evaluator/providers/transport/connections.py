"""HTTP/1.1 over connections that are kept: one request at a time on each, one bounded reply back."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import time
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    _Address = tuple[int, Any]
    """A family, and an address as its sockets take it."""

_LONGEST_HEAD = 64 * 1024
_MOST_IDLE = 15.0
"""Seconds. Services close what is idle, and a request that crosses with that is lost."""
_ADDRESS_KNOWN = 60.0
"""Seconds for which new connections go straight to the address that the last one reached."""
_NEXT_ADDRESS = 1.0
"""Seconds that each of a name's addresses has to answer, except the last one."""


class Endpoint(NamedTuple):
    """Where a connection goes."""

    host: str
    port: int
    tls: bool


class Response(NamedTuple):
    """A complete reply."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes


class NotHttpError(Exception):
    """What came back is no HTTP."""


class TooLargeError(Exception):
    """The reply is larger than allowed."""


class BrokenOffError(ConnectionError):
    """The connection ended in the middle of the reply."""


class TlsFailedError(Exception):
    """The service's certificate or its TLS is not acceptable, and will not be the next time."""


class Connections:
    """Opens them, lends them, and keeps them. How many there are is up to whoever asks: there is no limit here."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._idle: dict[Endpoint, list[_Connection]] = {}
        self._reached: dict[Endpoint, tuple[_Address, float]] = {}
        self._tls: ssl.SSLContext | None = None

    async def send(self, place: Endpoint, request: bytes, *, most: int, seconds: float) -> Response:
        """Send a request and read the reply, of at most so many bytes, within so many seconds.

        Raises:
            TimeoutError: There is no complete reply in time.
            TlsFailedError: No secure connection can be made.
            OSError: The connection cannot be made, or it ended.
            NotHttpError: The reply is no HTTP.
            TooLargeError: The reply is larger than allowed.
        """
        connection = self._kept(place)
        if connection is None:
            start = time.monotonic()
            async with asyncio.timeout(seconds):
                connection = await self._open(place)
            seconds -= time.monotonic() - start
        response = await connection.exchange(request, most, seconds)
        if connection.usable:
            connection.idle_since = self._clock()
            self._idle.setdefault(place, []).append(connection)
        else:
            connection.abort()
        return response

    async def close(self) -> None:
        """Let go of all that are idle."""
        for connection in [connection for idle in self._idle.values() for connection in idle]:
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # lets the loop close the sockets

    def _kept(self, place: Endpoint) -> _Connection | None:
        idle = self._idle.get(place)
        while idle:
            connection = idle.pop()
            if connection.usable and self._clock() - connection.idle_since < _MOST_IDLE and connection.is_silent():
                return connection
            connection.abort()
        return None

    async def _open(self, place: Endpoint) -> _Connection:
        tls = self._context() if place.tls else None
        address, until = self._reached.get(place, (None, 0.0))
        if address is not None and self._clock() < until:
            try:
                return await _connect(place, await _dial(address), tls)
            except (OSError, TlsFailedError):
                self._reached.pop(place, None)  # the name may lead elsewhere by now
            except asyncio.CancelledError:
                self._reached.pop(place, None)  # it did not answer in time
                raise
        address, sock = await _reach(place)
        connection = await _connect(place, sock, tls)
        self._reached[place] = (address, self._clock() + _ADDRESS_KNOWN)
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


async def _connect(place: Endpoint, sock: socket.socket, tls: ssl.SSLContext | None) -> _Connection:
    try:
        _, connection = await asyncio.get_running_loop().create_connection(
            _Connection, sock=sock, ssl=tls, server_hostname=place.host if tls else None
        )
    except ssl.SSLError as error:
        raise TlsFailedError(str(error)) from None
    return connection


async def _reach(place: Endpoint) -> tuple[_Address, socket.socket]:
    """The first address that answers. They take turns: asyncio's race of them loses sockets when it is cancelled."""
    *others, last = await _addresses(place)
    for address in others:
        with suppress(OSError):
            async with asyncio.timeout(_NEXT_ADDRESS):
                return address, await _dial(address)
    return last, await _dial(last)


async def _addresses(place: Endpoint) -> list[_Address]:
    """Where a host is. One of each family comes first: where IPv6 does not work, none of its addresses does."""
    with suppress(ValueError):
        family = socket.AF_INET6 if ip_address(place.host).version == 6 else socket.AF_INET  # noqa: PLR2004
        return [(family, (place.host, place.port))]
    loop = asyncio.get_running_loop()
    found = [(each[0], each[4]) for each in await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)]
    first: dict[int, _Address] = {address[0]: address for address in reversed(found)}
    return sorted(found, key=lambda address: address != first[address[0]])


async def _dial(address: _Address) -> socket.socket:
    family, where = address
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)  # noqa: FBT003 - as the library has it
        await asyncio.get_running_loop().sock_connect(sock, where)
    except BaseException:
        sock.close()
        raise
    return sock


class _Connection(asyncio.Protocol):
    """One connection. Whatever goes wrong with a reply, it is not used again."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._poll = select.poll()
        self._waiter: asyncio.Future[Response] | None = None
        self._begin(0)
        self.usable = False
        self.idle_since = 0.0

    async def exchange(self, request: bytes, most: int, seconds: float) -> Response:
        assert self._transport is not None  # noqa: S101 - it is connected
        loop = asyncio.get_running_loop()
        self._most = most
        waiter: asyncio.Future[Response] = loop.create_future()
        self._waiter = waiter
        timer = loop.call_later(seconds, self._time_out)
        self._transport.write(request)
        try:
            return await waiter
        except BaseException:
            self.abort()
            raise
        finally:
            timer.cancel()
            self._waiter = None

    def is_silent(self) -> bool:
        """Nothing has come, not even an end that the loop has yet to tell of."""
        return not self._poll.poll(0)

    def abort(self) -> None:
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        self._poll.register(transport.get_extra_info("socket"), select.POLLIN)
        self.usable = True

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:
            self.abort()  # nobody has asked for anything
            return
        self._bytes_without_body += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(NotHttpError(str(error)))
        if self._bytes_without_body > _LONGEST_HEAD:
            self._fail(NotHttpError(f"it goes on for more than {_LONGEST_HEAD:,} bytes without a part of the body"))

    def eof_received(self) -> None:
        self.usable = False
        if self._in_body and "content-length" not in self._headers and "transfer-encoding" not in self._headers:
            self._done()  # the end of the connection is the end of the reply
        self._fail(BrokenOffError())

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        self._fail(error or BrokenOffError())

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._waiter is None or self._waiter.done():
            self.usable = False  # a reply too many; whose it is cannot be known

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # what follows the body must not change what was said before it
            self._headers[name.decode("latin-1").lower()] = value.rstrip().decode("latin-1")

    def on_headers_complete(self) -> None:
        self._in_body = True
        length = self._headers.get("content-length", "")
        if length.isdigit() and int(length) > self._most:
            self._fail(TooLargeError(f"it announces {int(length):,} bytes"))

    def on_body(self, body: bytes) -> None:
        self._bytes_without_body = 0
        if len(self._body) + len(body) > self._most:
            self._fail(TooLargeError("it does not end"))
        else:
            self._body += body

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:  # noqa: PLR2004 - the reply is still to come
            self._begin(self._most)
            return
        assert self._transport is not None  # noqa: S101 - it is connected
        if status < 200 or not self._parser.should_keep_alive() or self._transport.get_write_buffer_size():  # noqa: PLR2004
            self.usable = False
        self._done()

    def _begin(self, most: int) -> None:
        self._most, self._in_body = most, False
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._bytes_without_body = 0  # bytes since the last one of the body, or since the reply began

    def _done(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(Response(self._parser.get_status_code(), self._headers, bytes(self._body)))
            self._begin(0)

    def _time_out(self) -> None:
        self._fail(TimeoutError())

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
