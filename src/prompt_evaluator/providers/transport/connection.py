"""One HTTP/1.1 connection: one request at a time, with a bounded reply."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Mapping

import msgspec
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_MAX_HEAD = 64 * 1024


class Response(msgspec.Struct, frozen=True, gc=False):
    """A complete reply."""

    status: int
    headers: Mapping[str, str]
    """Names are in lower case."""
    body: bytes


class NotHttpError(Exception):
    """The reply is not HTTP."""


class TooLargeError(Exception):
    """The reply is larger than allowed."""


class BrokenOffError(ConnectionError):
    """The connection ended before the reply was complete."""


class Connection(asyncio.Protocol):
    """One connection. Not reused after any failure."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Response] | None = None
        self._begin(0)
        self.usable = False
        self.answers = False
        """Whether anything has ever arrived."""
        self.reused = False
        self.idle_since = 0.0

    async def exchange(self, request: bytes, most: int) -> Response:
        assert self._transport is not None  # noqa: S101 - connected
        self._most = most
        waiter: asyncio.Future[Response] = self._loop.create_future()
        self._waiter = waiter
        self._transport.write(request)
        try:
            return await waiter
        except BaseException:
            self.abort()
            raise
        finally:
            self._waiter = None

    def time_out(self) -> None:
        """End the request in flight."""
        self._fail(TimeoutError())

    def is_silent(self) -> bool:
        """Whether nothing has arrived, not even an end of stream that the event loop has yet to report."""
        assert self._transport is not None  # noqa: S101 - connected
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        self.usable = True

    def data_received(self, data: bytes) -> None:
        self.answers = True
        if self._waiter is None:
            self.abort()  # data without a request
            return
        self._bytes_without_body += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail(NotHttpError(str(error)))
        if self._bytes_without_body > _MAX_HEAD:
            self._fail(NotHttpError(f"more than {_MAX_HEAD:,} bytes without any of the body"))

    def eof_received(self) -> None:
        self.usable = False
        if self._in_body and "content-length" not in self._headers and "transfer-encoding" not in self._headers:
            self._done()  # without a length, the end of the connection ends the reply
        self._fail(BrokenOffError("it was closed"))

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        self._fail(error or BrokenOffError("it was closed"))

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._waiter is None or self._waiter.done():
            self.usable = False  # an unsolicited reply

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # trailers must not override headers
            self._headers[name.decode("latin-1").lower()] = value.rstrip().decode("latin-1")

    def on_headers_complete(self) -> None:
        self._in_body = True
        length = self._headers.get("content-length", "")
        if length.isdigit() and int(length) > self._most:
            self._fail(TooLargeError(f"its Content-Length is {int(length):,}"))

    def on_body(self, body: bytes) -> None:
        self._bytes_without_body = 0
        if len(self._body) + len(body) > self._most:
            self._fail(TooLargeError("reading was stopped"))
        else:
            self._body += body

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:  # noqa: PLR2004 - an interim response
            self._begin(self._most)
            return
        assert self._transport is not None  # noqa: S101 - connected
        if status < 200 or not self._parser.should_keep_alive() or self._transport.get_write_buffer_size():  # noqa: PLR2004
            self.usable = False
        self._done()

    def _begin(self, most: int) -> None:
        self._most, self._in_body = most, False
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._bytes_without_body = 0  # since the last part of the body, or the start of the reply

    def _done(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(Response(self._parser.get_status_code(), self._headers, bytes(self._body)))
            self._begin(0)

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
