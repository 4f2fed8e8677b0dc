"""HTTP/1.1 over connections that are kept: one request at a time on each, one bounded reply back."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TYPE_CHECKING, NamedTuple

from httptools import HttpParserError, HttpResponseParser

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_HEAD = 64 * 1024
_MOST_IDLE = 15.0
"""Seconds. Services close what is idle, and a request that crosses with that is lost."""
_ADDRESS_KNOWN = 60.0
"""Seconds for which new connections go straight to the address that the last one reached."""
_NEXT_ADDRESS = 0.25
"""Seconds after which a name's next address is tried, while the first still does not answer."""


class Place(NamedTuple):
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

    def __init__(self) -> None:
        self._idle: dict[Place, list[_Connection]] = {}
        self._reached: dict[Place, tuple[str, float]] = {}
        self._tls: ssl.SSLContext | None = None

    async def send(self, place: Place, request: bytes, *, most: int, seconds: float) -> Response:
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
            connection.idle_since = time.monotonic()
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

    def _kept(self, place: Place) -> _Connection | None:
        idle = self._idle.get(place)
        while idle:
            connection = idle.pop()
            if connection.usable and time.monotonic() - connection.idle_since < _MOST_IDLE:
                return connection
            connection.abort()
        return None

    async def _open(self, place: Place) -> _Connection:
        address, until = self._reached.get(place, ("", 0.0))
        if time.monotonic() < until:
            try:
                return await self._connect(place, address)
            except OSError:
                del self._reached[place]  # the name may lead elsewhere by now
        connection = await self._connect(place, place.host)
        self._reached[place] = (connection.address, time.monotonic() + _ADDRESS_KNOWN)
        return connection

    async def _connect(self, place: Place, host: str) -> _Connection:
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                _Connection,
                host,
                place.port,
                ssl=self._context() if place.tls else None,
                server_hostname=place.host if place.tls else None,
                happy_eyeballs_delay=_NEXT_ADDRESS,
            )
        except ssl.SSLError as error:
            raise TlsFailedError(str(error)) from None
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


class _Connection(asyncio.Protocol):
    """One connection. Whatever goes wrong with a reply, it is not used again."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Response] | None = None
        self._begin(0)
        self.usable = False
        self.idle_since = 0.0

    @property
    def address(self) -> str:
        assert self._transport is not None  # noqa: S101 - it is connected
        return str(self._transport.get_extra_info("peername")[0])

    async def exchange(self, request: bytes, most: int, seconds: float) -> Response:
        assert self._transport is not None  # noqa: S101 - it is connected
        loop = asyncio.get_running_loop()
        self._begin(most)
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

    def abort(self) -> None:
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        self.usable = True

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:
            self.abort()  # nobody has asked for anything
            return
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._fail(NotHttpError(str(error)))
        if not self._in_body:
            self._size += len(data)
            if self._size > _LONGEST_HEAD:
                self._fail(NotHttpError(f"its head is longer than {_LONGEST_HEAD:,} bytes"))

    def eof_received(self) -> None:
        self.usable = False

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        if error is None and self._in_body and self._ends_with_connection():
            self._done()
        self._fail(error or BrokenOffError())

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self._waiter is None or self._waiter.done():
            self.usable = False  # a reply too many; whose it is cannot be known

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._in_body, self._size = True, 0
        length = self._headers.get("content-length", "")
        if length.isdigit() and int(length) > self._most:
            self._fail(TooLargeError(f"it announces {int(length):,} bytes"))

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self._most:
            self._fail(TooLargeError("it does not end"))
        else:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:  # noqa: PLR2004 - the reply is still to come
            self._begin(self._most)
            return
        self.usable = self.usable and self._parser.should_keep_alive()
        self._done()

    def _begin(self, most: int) -> None:
        self._most, self._size, self._in_body = most, 0, False
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []

    def _ends_with_connection(self) -> bool:
        return "content-length" not in self._headers and "transfer-encoding" not in self._headers

    def _done(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._waiter.set_result(Response(self._parser.get_status_code(), self._headers, body))
            self._begin(0)

    def _time_out(self) -> None:
        self._fail(TimeoutError())

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
