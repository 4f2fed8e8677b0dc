"""A proxy on loopback that tunnels, forwards, wants a login, and misbehaves in every way that proxies do."""

from __future__ import annotations

import asyncio
import re
import threading
from base64 import b64encode
from contextlib import contextmanager, suppress
from queue import Queue
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

Behaviour = Literal["works", "refuses", "hangs", "closes", "garbage"]


class Asked(NamedTuple):
    """One request as the proxy saw it."""

    method: str
    target: str
    headers: dict[str, str]


class ProxyServer:
    """Use as a context: everything is closed at its end."""

    def __init__(
        self,
        behaviour: Behaviour = "works",
        *,
        login: str | None = None,
        status: str = "403 Forbidden",
        leads_to: tuple[str, int] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Take what it does, the `user:password` it wants, how it refuses, where it really leads, and its own TLS."""
        self.behaviour, self._status, self._leads_to, self._tls = behaviour, status, leads_to, tls
        self._login = f"Basic {b64encode(login.encode()).decode()}" if login is not None else None
        self.asked: list[Asked] = []
        self.open_connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def url_with(self, login: str) -> str:
        return self.url.replace("//", f"//{login}@")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open_connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._answer_all(reader, writer)
        finally:
            self.open_connections -= 1
            self._tasks.discard(task)
            writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            asked = _parsed(head)
            self.asked.append(asked)
            if self._login is not None and asked.headers.get("proxy-authorization") != self._login:
                await self._refuse(reader, writer, asked, "407 Proxy Authentication Required")
            elif self.behaviour == "refuses":
                await self._refuse(reader, writer, asked, self._status)
            elif self.behaviour == "hangs":
                await reader.read()
            elif self.behaviour == "closes":
                return
            elif self.behaviour == "garbage":
                writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
                await reader.read()
            elif asked.method == "CONNECT":
                await self._tunnel(asked.target, reader, writer)
                return
            else:
                await self._forward(asked, head, reader, writer)

    async def _refuse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: Asked, status: str
    ) -> None:
        await reader.readexactly(int(asked.headers.get("content-length", "0")))
        body = b"<html>the page of a proxy</html>"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    async def _tunnel(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = target.rpartition(":")
        there = await asyncio.open_connection(*(self._leads_to or (host.strip("[]"), int(port))))
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, there[1]))
                group.create_task(_copy(there[0], writer))
        finally:
            there[1].transport.abort()

    async def _forward(
        self, asked: Asked, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Send each request of the connection on, and whatever comes back, until either side ends."""
        address = urlsplit(asked.target)
        there = await asyncio.open_connection(*(self._leads_to or (address.hostname, address.port or 80)))
        back = asyncio.create_task(_copy(there[0], writer))
        try:
            while True:
                there[1].write(_rewritten(asked, head))
                there[1].write(await reader.readexactly(int(asked.headers.get("content-length", "0"))))
                head = await reader.readuntil(b"\r\n\r\n")
                asked = _parsed(head)
                self.asked.append(asked)
        finally:
            back.cancel()
            there[1].transport.abort()


def _rewritten(asked: Asked, head: bytes) -> bytes:
    """As a proxy has to: the path alone, and nothing that was for the proxy."""
    address = urlsplit(asked.target)
    path = asked.target.removeprefix(f"{address.scheme}://{address.netloc}") or "/"
    return re.sub(rb"Proxy-[\w-]+:.*?\r\n", b"", head.replace(asked.target.encode(), path.encode(), 1))


class TlsServer:
    """Takes TLS connections, and passes on what they say to a server without TLS."""

    def __init__(self, context: ssl.SSLContext, leads_to: tuple[str, int]) -> None:
        self._context, self._leads_to = context, leads_to
        self.clients: list[dict[str, Any]] = []
        """The certificate of each connection's client."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.clients.append(writer.get_extra_info("peercert"))
        there = await asyncio.open_connection(*self._leads_to)
        try:
            await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
        finally:
            there[1].transport.abort()
            writer.transport.abort()
            self._tasks.discard(task)


T = TypeVar("T", ProxyServer, TlsServer)


def running_proxy(**options: Any) -> AbstractContextManager[ProxyServer]:
    return running(ProxyServer(**options))


@contextmanager
def running(server: T) -> Iterator[T]:
    """A server beside a test that waits for commands."""
    started, stop = Queue[T](), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with server as running:
            started.put(running)
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    try:
        yield started.get(timeout=10)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        assert not thread.is_alive(), "the server does not end"
        loop.close()


async def _copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65_536):
            to.write(data)
            await to.drain()
    to.close()


def _parsed(head: bytes) -> Asked:
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    return Asked(method, target, headers)
