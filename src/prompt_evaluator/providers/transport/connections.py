"""Connections to services, opened when they are needed and kept for the next request."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.providers.transport.connection import Connection
from prompt_evaluator.providers.transport.dialling import Dialler
from prompt_evaluator.providers.transport.tls import TlsFiles, make_context
from prompt_evaluator.providers.transport.tunnel import ProxyFailedError, open_tunnel

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from prompt_evaluator.providers.transport.connection import Response
    from prompt_evaluator.providers.transport.dialling import Dialled
    from prompt_evaluator.providers.transport.proxy import Proxy

_MOST_IDLE = 15.0
"""Seconds. Services close what is idle, and a request that crosses with that is lost."""
_MOST_CONNECTING = 30.0
"""Seconds for a new connection. A reply may take minutes; whoever takes longer than this to say hello is not there."""
_TRUSTED_IDLE = 0.05
"""Seconds for which a connection that has been used before is taken to be as it was left."""


class Endpoint(NamedTuple):
    """Where a connection goes, and how."""

    host: str
    port: int
    tls: bool
    proxy: Proxy | None = None
    files: TlsFiles = TlsFiles()


class TlsFailedError(Exception):
    """The service's certificate or its TLS is not acceptable, and will not be the next time."""


class NotConnectedError(ConnectionError):
    """There was no connection in time, which is given in seconds: nothing has been sent."""


class NobodyThereError(ConnectionError):
    """The host is unknown, or it does not take connections: nothing has been sent. Says why."""


class Connections:
    """Opens them, lends them, and keeps them. How many there are is up to whoever asks: there is no limit here."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._idle: dict[Endpoint, list[Connection]] = {}
        self._dialler = Dialler(clock)
        self._contexts: dict[TlsFiles, ssl.SSLContext] = {}

    async def send(self, place: Endpoint, request: bytes, *, most: int, seconds: float) -> Response:
        """Send a request and read the reply, of at most so many bytes, within so many seconds.

        Raises:
            NotConnectedError: There is no connection in time.
            NobodyThereError: The connection cannot be made.
            TimeoutError: There is no complete reply in time.
            TlsFailedError: No secure connection can be made.
            ProxyRefusedError: The proxy does not let us through.
            ProxyFailedError: The proxy cannot be reached, or it is none.
            OSError: The connection ended.
            NotHttpError: The reply is no HTTP.
            TooLargeError: The reply is larger than allowed.
        """
        connection = self._kept(place)
        if connection is None:
            start, limit = time.monotonic(), min(seconds, _MOST_CONNECTING)
            try:
                async with asyncio.timeout(limit):
                    connection = await self._open(place)
            except TimeoutError:
                raise NotConnectedError(limit) from None
            except ProxyFailedError:
                raise
            except OSError as error:
                raise NobodyThereError(_reason(error)) from error
            seconds -= time.monotonic() - start
        response = await connection.exchange(request, most, seconds)
        if connection.usable:
            connection.idle_since = self._clock()
            self._idle.setdefault(place, []).append(connection)
        else:
            connection.abort()
        return response

    def context(self, files: TlsFiles) -> ssl.SSLContext:
        """What secure connections are made with; the files are read once.

        Raises:
            ValueError: One of them cannot be used; says which and why.
        """
        if files not in self._contexts:
            self._contexts[files] = make_context(files)
        return self._contexts[files]

    async def close(self) -> None:
        """Let go of all that are idle."""
        for connection in [connection for idle in self._idle.values() for connection in idle]:
            connection.abort()
        self._idle.clear()
        self._dialler.close()
        await asyncio.sleep(0)  # lets the loop close the sockets

    def _kept(self, place: Endpoint) -> Connection | None:
        """An idle connection that is still good.

        An end that the loop has told of is known without looking. Looking for one that it has yet to tell of is a
        system call, 4 % of a busy run, and finds something where a service closes connections after their first reply
        or when they have been idle: so it is done then. In a busy run connections are idle for a moment only.
        """
        idle, now = self._idle.get(place), self._clock()
        while idle:
            connection = idle.pop()
            since = now - connection.idle_since
            if connection.usable and since < _MOST_IDLE:
                if connection.reused and since < _TRUSTED_IDLE:
                    return connection
                if connection.is_silent():
                    connection.reused = True
                    return connection
            connection.abort()
        return None

    async def _open(self, place: Endpoint) -> Connection:
        if place.proxy is not None:
            return await self._open_through(place.proxy, place)
        context = self.context(place.files) if place.tls else None
        dialled = await self._dialler.dial(place.host, place.port)
        try:
            return await _connect(place, dialled.sock, context)
        except (OSError, TlsFailedError):
            self._dialler.doubt(dialled)
            if not dialled.known:
                raise
        dialled = await self._dialler.dial(place.host, place.port)
        return await _connect(place, dialled.sock, context)

    async def _open_through(self, proxy: Proxy, place: Endpoint) -> Connection:
        context = self.context(place.files) if place.tls else None
        sock = (await self._dial_proxy(proxy)).sock
        if place.tls:
            try:
                await open_tunnel(sock, proxy, place.host, place.port)
            except BaseException:
                sock.close()
                raise
        return await _connect(place, sock, context)

    async def _dial_proxy(self, proxy: Proxy) -> Dialled:
        try:
            return await self._dialler.dial(proxy.host, proxy.port)
        except OSError as error:
            raise ProxyFailedError(f"cannot be reached: {error}") from None


def _reason(error: OSError) -> str:
    """`Connection refused`, where the event loop says `Connect call failed ('127.0.0.1', 9)`."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error) or type(error).__name__


async def _connect(place: Endpoint, sock: socket.socket, tls: ssl.SSLContext | None) -> Connection:
    """HTTP over a socket; with TLS, the server has to be who the endpoint says, also behind a proxy."""
    try:
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, sock=sock, ssl=tls, server_hostname=place.host if tls else None
        )
    except ssl.SSLError as error:
        raise TlsFailedError(str(error)) from None
    return connection
