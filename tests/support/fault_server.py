"""A server on loopback that speaks every protocol we speak, and every kind of nonsense."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import time
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import ssl


@dataclass
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes
    reader: asyncio.StreamReader = field(repr=False)
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Handler = Callable[["FaultServer", Received, asyncio.StreamWriter], Awaitable[None]]
FAULTS: dict[str, Handler] = {}


def fault(name: str) -> Callable[[Handler], Handler]:
    """Give a handler the name it has in the table of faults."""

    def register(handler: Handler) -> Handler:
        FAULTS[name] = handler
        return handler

    return register


class FaultServer:
    """Plays its script, one entry a request, and is well behaved from then on."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.script: list[str] = []
        self.received: list[Received] = []
        self.open_connections = 0
        self.answer = "A good answer."
        self.model = "test-model-2025"
        self.extra_headers: dict[str, str] = {}
        self.stop = asyncio.Event()
        self._server: asyncio.Server | None = None
        self.handler: Handler = respond

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=2048, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop.set()
        assert self._server is not None
        self._server.close()
        deadline = time.monotonic() + 2
        while self.open_connections and time.monotonic() < deadline:  # noqa: ASYNC110 - no event for a bound
            await asyncio.sleep(0.01)

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def stall(self, request: Received) -> None:
        """Do nothing until the caller hangs up or the server stops."""
        waits = {asyncio.ensure_future(self.stop.wait()), asyncio.ensure_future(request.reader.read(1))}
        _, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in pending:
            wait.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_connections += 1
        try:
            while request := await _read(reader):
                self.received.append(request)
                handler = FAULTS[self.script.pop(0)] if self.script else self.handler
                await handler(self, request, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(lines[0].split(" ")[1], headers, body, reader)


def send(
    writer: asyncio.StreamWriter,
    body: bytes | dict[str, Any],
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> None:
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    sent = {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    writer.write(f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + data)


def good_body(server: FaultServer, request: Received) -> dict[str, Any]:
    """What the service at this path would answer."""
    if request.path.startswith("/router"):
        return {"output": server.answer}
    if request.path.endswith("/v1/messages"):
        return {
            "model": server.model,
            "content": [{"type": "text", "text": server.answer}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }
    return {
        "model": server.model,
        "choices": [{"message": {"role": "assistant", "content": server.answer}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }


async def respond(server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
    send(writer, good_body(server, request), headers=server.extra_headers)


def _status(name: str, status: int, message: str, headers: dict[str, str] | None = None) -> None:
    @fault(name)
    async def handler(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
        send(writer, {"error": {"message": message}}, status=status, headers=headers)


def _raw(name: str, body: bytes, headers: dict[str, str] | None = None, status: int = 200) -> None:
    @fault(name)
    async def handler(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
        send(writer, body, headers=headers, status=status)


def _bomb() -> bytes:
    """300 MB in 300 KB, made in no time: each megabyte is the same block again."""
    machine = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    first, again = (machine.compress(b"0" * 1_000_000) + machine.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * 299 + machine.flush()


_status("429, Retry-After in seconds", 429, "slow down", {"Retry-After": "0.2"})
_status("429, Retry-After as a number of milliseconds", 429, "slow down", {"Retry-After-Ms": "200"})
_status("429, Retry-After unreadable", 429, "slow down", {"Retry-After": "soon"})
_status("429, Retry-After negative", 429, "slow down", {"Retry-After": "-5"})
_status("429, Retry-After of an hour", 429, "slow down", {"Retry-After": "3600"})
_status("429, Retry-After infinite", 429, "slow down", {"Retry-After": "inf"})
_status("429 without Retry-After", 429, "slow down")
_status("429, out of quota", 429, "You exceeded your current quota, please check your plan.")
_status("500", 500, "internal error")
_status("503, Retry-After in seconds", 503, "overloaded", {"Retry-After": "0.2"})
_status("529", 529, "overloaded")
_status("408", 408, "request timeout")
_status("400", 400, "bad request")
_status("401", 401, "invalid key")
_status("402", 402, "payment required")
_status("403", 403, "not allowed")
_status("404", 404, "no such model")
_status("413", 413, "too large")
_status("422", 422, "cannot process")
_status("redirect to another host", 307, "moved", {"Location": "http://127.0.0.2:9/v1"})
_raw("empty body", b"")
_raw("truncated JSON", b'{"choices": [{"message": {"content": "half an ans')
_raw("not JSON", b"I am fine, thank you.")
_raw("HTML with status 200", b"<html><body>It works!</body></html>", {"Content-Type": "text/html"})
_raw("HTML that claims to be JSON", b"<html><body>It works!</body></html>")
_raw("bad UTF-8", b'{"choices": [{"message": {"content": "\xff\xfe"}}], "content": [{"type": "text", "text": "\xff"}]}')
_raw(
    "NaN",
    b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": NaN}, "output": NaN, "content": NaN}',
)
_raw("no choices", b'{"choices": [], "content": []}')
_raw(
    "null content",
    b'{"choices": [{"message": {"content": null}}], "content": [], "output": null}',
)
_raw("an array", b"[1, 2, 3]")
_raw("nested 100,000 deep", b"[" * 100_000)
_raw("a gzip bomb", _bomb(), {"Content-Encoding": "gzip"})
_raw("gzip that is none", b"not gzip at all", {"Content-Encoding": "gzip"})
_raw(
    "429 with a page that is not the gzip it claims to be",
    b"<html>Slow down</html>",
    {"Content-Encoding": "gzip", "Retry-After": "0.01"},
    429,
)
_raw("401 in an encoding nobody asked for", b"\x8b\x02\x80\xff", {"Content-Encoding": "br"}, 401)
_raw("truncated gzip", gzip.compress(b'{"choices": []}' * 100)[:40], {"Content-Encoding": "gzip"})
_raw("an encoding nobody asked for", b"xyz", {"Content-Encoding": "br"})


@fault("429, Retry-After as a date")
async def _date(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    when = formatdate(time.time() + 1.5, usegmt=True)
    send(writer, {"error": {"message": "slow down"}}, status=429, headers={"Retry-After": when})


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with an RST, as a crashed peer or a firewall does."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@fault("reset before the reply")
async def _reset_before(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    _reset(writer)


@fault("reset in the middle of the body")
async def _reset_within(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    send(writer, b'{"choices": [{"mess', headers={"Content-Length": "5000"})
    await writer.drain()
    await asyncio.sleep(0.02)
    _reset(writer)


@fault("closed in the middle of the body")
async def _closed_within(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    send(writer, b'{"choices": [{"mess', headers={"Content-Length": "5000"})
    await writer.drain()
    writer.close()


@fault("a stall before the reply")
async def _stall(server: FaultServer, request: Received, _writer: asyncio.StreamWriter) -> None:
    await server.stall(request)


@fault("a stall in the middle of the body")
async def _stall_within(server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
    send(writer, b'{"choices": [{"mess', headers={"Content-Length": "5000"})
    await writer.drain()
    await server.stall(request)


@fault("a slow trickle")
async def _trickle(server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    send(writer, b"{", headers={"Content-Length": "5000"})
    while not server.stop.is_set():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


@fault("100 MB announced")
async def _announced(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    send(writer, b"{", headers={"Content-Length": str(100_000_000)})


@fault("100 MB in chunks")
async def _chunked(server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    for _ in range(1_600):
        if server.stop.is_set() or writer.is_closing():
            return
        writer.write(chunk)
        await writer.drain()


@fault("204, no content")
async def _no_content(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")


@fault("not HTTP")
async def _not_http(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    await writer.drain()
    writer.close()


@fault("another model answers")
async def _other_model(server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
    send(writer, good_body(server, request) | {"model": "somebody-else"})
