"""Connections to services, opened on demand and kept for reuse."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.providers.transport.connection import BrokenOffError, Connection
from prompt_evaluator.providers.transport.deadlines import Deadlines
from prompt_evaluator.providers.transport.dialling import Dialler, reason
from prompt_evaluator.providers.transport.tls import TlsFiles, make_context
from prompt_evaluator.providers.transport.tunnel import ProxyFailedError, open_tunnel

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from prompt_evaluator.providers.transport.connection import Response
    from prompt_evaluator.providers.transport.dialling import Dialled
    from prompt_evaluator.providers.transport.proxy import Proxy

_MAX_IDLE = 15.0
"""Seconds. Services close idle connections, and a request sent at that moment is lost."""
_CONNECT_TIMEOUT = 30.0
"""Seconds to open a connection. Replies may take minutes, but a service that takes longer to connect is down."""
_TRUSTED_IDLE = 0.05
"""Seconds for which an idle connection is reused without a check, once it has been reused before."""


class Endpoint(NamedTuple):
    """Where a connection goes and how it gets there."""

    host: str
    port: int
    tls: bool
    proxy: Proxy | None = None
    files: TlsFiles = TlsFiles()


class TlsFailedError(Exception):
    """TLS failed, for example because of the certificate. Trying again would not help."""


class NotConnectedError(ConnectionError):
    """No connection within the time in `args`, in seconds. Nothing has been sent."""


class NobodyThereError(ConnectionError):
    """The host is unknown, or it does not take connections: nothing has been sent. Says why."""


class HandshakeEndedError(NobodyThereError):
    """The connection was closed during the TLS handshake."""


class UnansweredError(BrokenOffError):
    """A connection ended before any part of a reply, and none to this service was ever kept. Says why."""


class Connections:
    """Opens connections, sends requests over them and keeps them for reuse. Their number is not limited here."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._idle: dict[Endpoint, list[Connection]] = {}
        self._dialler = Dialler(clock)
        self._deadlines = Deadlines()
        self._contexts: dict[TlsFiles, ssl.SSLContext] = {}

    async def send(self, place: Endpoint, request: bytes, *, most: int, seconds: float) -> Response:
        """Send a request and read a reply of at most `most` bytes within `seconds`.

        Raises:
            NotConnectedError: No connection in time.
            NobodyThereError: The connection cannot be made.
            UnansweredError: It ended without any part of a reply, from a service that has not answered before.
            TimeoutError: No complete reply in time.
            TlsFailedError: TLS could not be established.
            ProxyRefusedError: The proxy refused to connect us.
            ProxyFailedError: The proxy cannot be reached, or is not a proxy.
            OSError: The connection failed or ended early.
            NotHttpError: The reply is not HTTP.
            TooLargeError: The reply has more than `most` bytes.
        """
        connection = self._kept(place)
        if connection is None:
            start, limit = time.monotonic(), min(seconds, _CONNECT_TIMEOUT)
            try:
                async with asyncio.timeout(limit):
                    connection = await self._open(place)
            except TimeoutError:
                raise NotConnectedError(limit) from None
            except (ProxyFailedError, HandshakeEndedError):
                raise
            except OSError as error:
                raise NobodyThereError(reason(error)) from error
            seconds -= time.monotonic() - start
        self._deadlines.watch(connection, seconds)
        try:
            response = await connection.exchange(request, most)
        except ConnectionError as error:
            if connection.answers or place in self._idle:
                raise
            raise UnansweredError(reason(error)) from error
        finally:
            self._deadlines.forget(connection)
        if connection.usable:
            connection.idle_since = self._clock()
            self._idle.setdefault(place, []).append(connection)
        else:
            connection.abort()
        return response

    def context(self, files: TlsFiles) -> ssl.SSLContext:
        """Return the TLS context for these files, which are read once.

        Raises:
            ValueError: A file cannot be used. Says which and why.
        """
        if files not in self._contexts:
            self._contexts[files] = make_context(files)
        return self._contexts[files]

    async def close(self) -> None:
        """Close all idle connections."""
        for connection in [connection for idle in self._idle.values() for connection in idle]:
            connection.abort()
        self._idle.clear()
        self._dialler.close()
        self._deadlines.close()
        await asyncio.sleep(0)  # let the loop close the sockets

    def _kept(self, place: Endpoint) -> Connection | None:
        """Return an idle connection that is still open.

        `usable` covers an end of stream that the event loop has reported. Checking for one it has not reported yet is
        a system call, 4 % of a busy run. The check pays off for services that close a connection after the first reply
        or after some idle time, so it is made only at the first reuse and after `_TRUSTED_IDLE`. In a busy run
        connections are idle for less.
        """
        idle, now = self._idle.get(place), self._clock()
        while idle:
            connection = idle.pop()
            since = now - connection.idle_since
            if connection.usable and since < _MAX_IDLE:
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
            raise ProxyFailedError(f"cannot be reached: {reason(error)}") from None


async def _connect(place: Endpoint, sock: socket.socket, tls: ssl.SSLContext | None) -> Connection:
    """Set up HTTP on a socket. With TLS, the certificate must match the endpoint's host, also through a proxy."""
    try:
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, sock=sock, ssl=tls, server_hostname=place.host if tls else None
        )
    except ssl.SSLError as error:
        raise TlsFailedError(str(error)) from None
    except ConnectionError as error:
        if tls is None:
            raise
        raise HandshakeEndedError("it was closed during the TLS handshake") from error
    return connection
