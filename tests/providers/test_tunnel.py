"""What a proxy may answer to CONNECT, byte by byte, and what becomes of it."""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.providers.transport.proxy import Proxy
from prompt_evaluator.providers.transport.tunnel import ProxyFailedError, ProxyRefusedError, open_tunnel

if TYPE_CHECKING:
    from collections.abc import Iterator

PROXY = Proxy.parse("http://user:secret-word@proxy:1", "TEST")


@contextmanager
def two_ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.settimeout(0)
        yield ours, theirs


async def answered(raw: bytes, *, slowly: bool = False, ends: bool = False) -> bytes:
    """Open a tunnel at a proxy that answers this. Returns what it was asked."""
    loop = asyncio.get_running_loop()
    with two_ends() as (ours, theirs):
        opening = asyncio.create_task(open_tunnel(ours, PROXY, "host.test", 443))
        asked = await loop.sock_recv(theirs, 4096)
        for part in [bytes([byte]) for byte in raw] if slowly else [raw]:
            await loop.sock_sendall(theirs, part)
            await asyncio.sleep(0)
        if ends:
            theirs.shutdown(socket.SHUT_WR)
        async with asyncio.timeout(10):
            await opening
    return asked


OPEN = {
    "the usual": b"HTTP/1.1 200 Connection established\r\n\r\n",
    "an old version": b"HTTP/1.0 200 OK\r\n\r\n",
    "headers": b"HTTP/1.1 200 OK\r\nVia: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\n\r\n",
    "an empty reason": b"HTTP/1.1 200 \r\n\r\n",
    "another success": b"HTTP/1.1 204 Go on\r\n\r\n",
    "letters beyond ASCII": "HTTP/1.1 200 Schön\r\n\r\n".encode(),
}


@pytest.mark.parametrize("slowly", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("raw", OPEN.values(), ids=list(OPEN))
async def test_a_success_opens_the_tunnel(raw: bytes, *, slowly: bool) -> None:
    asked = (await answered(raw, slowly=slowly)).decode().split("\r\n")

    assert asked[:2] == ["CONNECT host.test:443 HTTP/1.1", "Host: host.test:443"]
    assert asked[2].startswith("User-Agent: prompt-evaluator/")
    assert asked[3:] == ["Proxy-Authorization: Basic dXNlcjpzZWNyZXQtd29yZA==", "", ""]


REFUSED = {
    "a login": (
        b"HTTP/1.1 407 Login\r\nProxy-Authenticate: NTLM\r\nproxy-authenticate: Basic realm=x\r\n\r\n<html>",
        (407, "Login", ["NTLM", "Basic"]),
    ),
    "a page": (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\n<html>", (403, "Forbidden", [])),
    "no reason": (b"HTTP/1.1 502\r\n\r\n", (502, "", [])),
    "a hint": (b"HTTP/1.1 100 Continue\r\n\r\n", (100, "Continue", [])),
}


@pytest.mark.parametrize(("raw", "expected"), REFUSED.values(), ids=list(REFUSED))
async def test_another_status_is_a_refusal(raw: bytes, expected: tuple[int, str, list[str]]) -> None:
    with pytest.raises(ProxyRefusedError) as caught:
        await answered(raw)

    assert (caught.value.status, caught.value.reason, caught.value.logins) == expected


GARBAGE = {
    "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
    "an alert of TLS": b"\x15\x03\x01\x00\x02\x02\x46",
    "socks": b"\x05\xff",
    "a page without a head": b"<html>hi</html>\r\n\r\n",
    "another version": b"HTTP/2 200 OK\r\n\r\n",
    "a status in words": b"HTTP/1.1 OK\r\n\r\n",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n\r\n",
}


@pytest.mark.parametrize("raw", GARBAGE.values(), ids=list(GARBAGE))
async def test_an_answer_that_is_not_http_fails_at_once(raw: bytes) -> None:
    with pytest.raises(ProxyFailedError, match="does not speak HTTP; its answer starts with"):
        await answered(raw)


@pytest.mark.parametrize(
    ("raw", "what"),
    [(b"", "closed the connection without answering"), (OPEN["the usual"][:20], "sent an incomplete answer")],
)
async def test_an_answer_that_does_not_come_is_said(raw: bytes, what: str) -> None:
    with pytest.raises(ProxyFailedError, match=what):
        await answered(raw, ends=True)
