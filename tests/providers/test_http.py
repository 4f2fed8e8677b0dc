"""Requests and replies as they go over the wire: whole, packed, broken, late and cancelled."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import socket
import traceback
import zlib
from base64 import b64decode
from contextlib import asynccontextmanager, suppress
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from certificates import Authority
from entries import each
from fault_server import FAULTS, FaultServer, Handler, Received, respond, send
from leftovers import becomes_true, open_files
from proxy_server import ProxyServer
from service import QUICK, says, service

from prompt_evaluator.errors import (
    BadReplyError,
    ConnectionFailedError,
    HopelessError,
    OversizedReplyError,
    ProviderError,
    TimedOutError,
)
from prompt_evaluator.model import Limits, ProviderSettings
from prompt_evaluator.providers.address import Address
from prompt_evaluator.providers.http import Call, Http, retry_after

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

GOOD = b'{"choices": [{"message": {"content": "Gr\xc3\xbc\xc3\x9fe"}, "finish_reason": "stop"}], "model": "m"}'
BOM = b"\xef\xbb\xbf"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def raw(data: bytes, *, stays: bool = False) -> Handler:
    """Write exactly this, and close the connection or leave it open."""

    async def handler(server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if stays:
            await server.stall(request)
        writer.close()

    return handler


def raw_deflate(data: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return machine.compress(data) + machine.flush()


@asynccontextmanager
async def opened() -> AsyncIterator[Http]:
    http = Http()
    try:
        yield http
    finally:
        await http.close()


def call_to(http: Http, url: str, headers: dict[str, str] | None = None, **settings: Any) -> Call:
    address = Address.parse(url)
    way = http.way_to("svc", ProviderSettings(kind="openai", **settings), address)
    return Call("svc", way, address, headers or {}, Limits())


# Requests.


async def sent(base: str, headers: dict[str, str] | None = None) -> Received:
    async with FaultServer() as server, opened() as http:
        url = base.replace("HOST", f"127.0.0.1:{server.port}")
        await http.post(call_to(http, url, headers), b"{}", 5)
        return server.received[0]


@each(
    ("base", "target"),
    [
        ("http://HOST", "/"),
        ("http://HOST?a=b", "/?a=b"),
        ("http://HOST//a/../b/", "//a/../b/"),
        ("http://HOST/a b/größe%2Fc#part", "/a%20b/gr%C3%B6%C3%9Fe%2Fc"),
        ("http://HOST/?sig=a%2Bb%2F%3D%3d&x=a+b&&flag", "/?sig=a%2Bb%2F%3D%3d&x=a+b&&flag"),
    ],
)
async def test_path_and_query_are_sent_as_they_were_written(base: str, target: str) -> None:
    assert (await sent(base)).path == target


async def test_a_login_in_the_address_is_sent_as_a_header_and_nowhere_else() -> None:
    request = await sent("http://us%40er:p%40ss%3Aword@HOST/v1")

    assert b64decode(request.headers["authorization"].removeprefix("Basic ")) == b"us@er:p@ss:word"
    assert request.path == "/v1"
    assert "us" not in request.headers["host"]


async def test_headers_of_the_user_win_except_about_the_length_of_the_body() -> None:
    request = await sent("http://HOST", {"accept": "x", "HOST": "other", "Content-Length": "5", "X-One": "zwei ü"})

    named = {name: request.headers[name] for name in ("accept", "host", "content-length")}
    assert named == {"accept": "x", "host": "other", "content-length": "2"}
    assert request.headers["x-one"].encode("latin-1").decode() == "zwei ü"
    assert "cookie" not in request.headers


NOT_SENT: dict[str, tuple[str, dict[str, str]]] = {
    "host": ("http://a..b", {}),
    "a long label": (f"http://{'a' * 70}.test", {}),
    "value": ("http://h", {"X": "a\r\nX-Evil: 1"}),
    "name": ("http://h", {"X\n": "a"}),
    "no name": ("http://h", {"": "a"}),
    "two logins": ("http://user:pass-word@h", {"authorization": "Bearer hidden-word"}),
}


@each(("url", "headers"), NOT_SENT.values(), ids=NOT_SENT)
async def test_a_request_that_cannot_be_sent_is_refused_without_its_secrets(url: str, headers: dict[str, str]) -> None:
    async with service("openai", base_url=url, headers=headers) as svc:
        with pytest.raises(HopelessError, match="the request cannot be sent: ") as caught:
            await svc.ask()

    assert not any(part in str(caught.value) for part in ("pass-word", "hidden-word", "Evil"))


async def test_a_large_request_arrives_whole() -> None:
    body = json.dumps({"text": "x" * 3_000_000}).encode()
    async with FaultServer() as server, opened() as http:
        await http.post(call_to(http, server.url), body, 30)

        assert server.received[0].body == body


# Replies.


PACKED = {
    "a byte order mark": (BOM + GOOD, {}),
    "another content type": (GOOD, {"Content-Type": "text/html"}),
    "gzip": (gzip.compress(BOM + GOOD), {"Content-Encoding": "GZIP"}),
    "deflate as zlib": (zlib.compress(GOOD), {"Content-Encoding": "deflate"}),
    "deflate as its name says": (raw_deflate(GOOD), {"Content-Encoding": "deflate"}),
    "gzip that something on the way has unpacked": (GOOD, {"Content-Encoding": "gzip"}),
}


@each(("body", "headers"), PACKED.values(), ids=PACKED)
async def test_json_is_read_whatever_it_is_called_and_however_it_is_packed(
    body: bytes, headers: dict[str, str]
) -> None:
    async with service("openai", says(body, headers=headers)) as svc:
        assert (await svc.ask()).text == "Grüße"


@each(
    ("status", "body", "what"),
    [
        (400, gzip.compress(b'{"error": {"message": "no such field"}}'), r"\(400\): no such field"),
        (403, gzip.compress(b" " * 1_100_000), r"\(403\): [\d,]+ bytes that are not text"),
    ],
)
async def test_a_refusal_stays_what_its_status_says_however_it_is_packed(status: int, body: bytes, what: str) -> None:
    async with service("openai", says(body, status=status, headers={"Content-Encoding": "gzip"})) as svc:
        with pytest.raises(ProviderError, match=what) as caught:
            await svc.ask()

    assert caught.value.status == status


LARGE = b" " * 1_000_001
GZIP, DEFLATE, TEXT = ({"Content-Encoding": "gzip"}, {"Content-Encoding": "deflate"}, {"Content-Type": "text/html"})
NOT_HTTP, CUT, NONE = "the reply is not HTTP: ", "ended before the reply was complete", "ended without a reply: "
NEVER = r"no complete reply within 0\.3 s"
BAD, LOST, LATE, BIG = BadReplyError, ConnectionFailedError, TimedOutError, OversizedReplyError
TOO_LARGE = r"larger than max_reply_bytes \(1,000,000\): .*"
BROKEN: dict[str, tuple[Handler, type[ProviderError], str]] = {
    "a page": (says(b"<html>Hi!</html>", headers=TEXT), BAD, "is text/html, not JSON: .* it starts with '<html>"),
    "a page that claims to be JSON": (says(b"<html>"), BAD, "is not the JSON it claims to be: .* starts with '<html>'"),
    "another encoding": (says(b"\x8b\xff", headers={"Content-Encoding": "br"}), BAD, "2 bytes that are not text"),
    "nothing": (says(BOM), BAD, "the reply is empty"),
    "another protocol": (raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", stays=True), BAD, f"{NOT_HTTP}.*SSH-2.0"),
    "two lengths": (raw(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"), BAD, NOT_HTTP),
    "a header without an end": (raw(OK + b"X: " + b"x" * 100_000, stays=True), BAD, NOT_HTTP),
    "cut in the first line": (raw(b"HTTP/1.1 20"), LOST, CUT),
    "cut in the body": (raw(OK + b"Content-Length: 10\r\n\r\n{"), LOST, CUT),
    "cut between chunks": (raw(CHUNKED + b"2\r\n{}\r\n"), LOST, CUT),
    "reset in the body": (FAULTS["reset in the middle of the body"], LOST, CUT),
    "closed": (raw(b""), LOST, f"{NONE}it was closed"),
    "reset": (FAULTS["reset before the reply"], LOST, f"{NONE}Connection reset by peer"),
    "never answered": (raw(b"", stays=True), LATE, NEVER),
    "never ended": (FAULTS["a slow trickle"], LATE, NEVER),
    "announced": (
        raw(OK + b"Content-Length: 1000001\r\n\r\n", stays=True),
        BIG,
        f"{TOO_LARGE}its Content-Length is",
    ),
    "in chunks": (raw(CHUNKED + b"f4241\r\n" + LARGE + b"\r\n", stays=True), BIG, f"{TOO_LARGE}reading was stopped"),
    "in gzip": (says(gzip.compress(LARGE), headers=GZIP), BIG, f"{TOO_LARGE}compressed bytes expand to more"),
    "in raw deflate": (says(raw_deflate(LARGE), headers=DEFLATE), BIG, f"{TOO_LARGE}compressed bytes expand to more"),
}


@each(("handler", "kind", "what"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_reply_is_an_error_that_says_how_and_the_end_of_its_connection(
    handler: Handler, kind: type[ProviderError], what: str
) -> None:
    limits = msgspec.structs.replace(QUICK, try_timeout=0.3 if kind is LATE else 30)
    async with service("openai", *[handler] * 2, limits=limits) as svc:
        with pytest.raises(kind, match=what) as caught:
            await svc.ask()

        assert caught.value.tries == len(svc.server.received) == (1 if kind is BIG else 2)
        if what.startswith((NOT_HTTP, CUT, NONE, NEVER)):  # the rest of the reply may still come
            await becomes_true(lambda: svc.server.open_connections == 0)


@each(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": formatdate(1_800_000_030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(1_799_999_970, usegmt=True)}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "100", "retry-after": "1"}, 0.1),
        ({"retry-after-ms": "x", "retry-after": "1"}, 1.0),
        *(({"retry-after": text}, None) for text in ("soon", "", "nan", "inf", "Wed, 99 Foo 2025 99:99:99 GMT")),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, 1_800_000_000.0) == seconds


# Connections.


async def test_a_connection_is_kept_for_the_next_request_and_lost_ones_are_replaced() -> None:
    async with FaultServer() as server, opened() as http:
        call, before = call_to(http, server.url), len(open_files())
        for _ in range(3):
            await http.post(call, b"{}", 5)
        assert len({id(request.reader) for request in server.received}) == 1

        server.handler = raw(OK + b"Content-Length: 2\r\n\r\n{}")  # closes, and does not say so
        await http.post(call, b"{}", 5)
        await becomes_true(lambda: len(open_files()) == before)
        server.handler = respond
        await http.post(call, b"{}", 5)

        assert len({id(request.reader) for request in server.received}) == 2


async def test_a_kept_connection_that_ends_as_it_is_used_again_costs_a_try() -> None:
    async with service("openai", respond, raw(b"")) as svc:
        await svc.ask()

        assert (await svc.ask()).tries == 2


async def test_a_reply_that_nobody_asked_for_is_not_taken_for_the_next_answer() -> None:
    async def twice(_server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            send(writer, request.body)
            await writer.drain()
            await asyncio.sleep(0.01)

    async with FaultServer() as server, opened() as http:
        server.handler = twice
        call = call_to(http, server.url)
        replies = []
        for number in range(3):
            replies.append((await http.post(call, b"%d" % number, 5)).body)
            await asyncio.sleep(0.05)

    assert replies == [b"0", b"1", b"2"]


async def test_any_number_of_requests_is_in_flight_at_once() -> None:
    async with FaultServer() as server, opened() as http:
        server.handler = FAULTS["a stall before the reply"]
        call = call_to(http, server.url)
        calls = [asyncio.ensure_future(http.post(call, b"{}", 60)) for _ in range(200)]

        await becomes_true(lambda: len(server.received) == 200)

        for each in calls:
            each.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def test_connections_that_are_silent_for_minutes_are_kept_alive() -> None:
    async with FaultServer() as server, opened() as http:
        await http.post(call_to(http, server.url), b"{}", 5)
        options = set()
        for file in open_files():
            with suppress(OSError), socket.socket(fileno=os.dup(file)) as sock:
                if sock.getpeername() == ("127.0.0.1", server.port):
                    options.add(sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))

    assert options == {1}


@each("way", ["plain", "TLS", "forwarded", "tunnelled"])
async def test_a_call_that_is_cancelled_at_any_moment_leaves_nothing_open(way: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = authority.server("127.0.0.1") if way in ("TLS", "tunnelled") else None
    async with FaultServer(tls) as server, ProxyServer() as proxy:
        on_the_way = proxy.url if way in ("forwarded", "tunnelled") else None
        for turns in range(500):
            async with opened() as http:
                request = asyncio.create_task(
                    http.post(call_to(http, server.url, ca_file=str(authority.file), proxy=on_the_way), b"{}", 30)
                )
                for _ in range(turns):
                    await asyncio.sleep(0)
                if request.done():
                    break
                request.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await request
                await becomes_true(lambda: not proxy.open_connections and not server.open_connections)

        assert request.result().body
        assert turns > 3


@each("how", ["cancelled", "out of time"])
async def test_a_request_that_nobody_reads_to_its_end_is_given_up_at_once(how: str) -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)  # noqa: FBT003
        async with opened() as http:
            before = len(open_files())
            call = call_to(http, f"http://127.0.0.1:{server.getsockname()[1]}")
            request = asyncio.create_task(http.post(call, b" " * 20_000_000, 600 if how == "cancelled" else 0.2))
            peer, _ = await loop.sock_accept(server)
            if how == "cancelled":
                await asyncio.sleep(0.05)
                request.cancel()
            with pytest.raises((asyncio.CancelledError, TimedOutError)):
                await request
            peer.close()
            await becomes_true(lambda: len(open_files()) == before)


# Secrets.


async def test_no_secret_that_a_service_repeats_is_in_an_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TEST_KEY", "sk-quoted-by-a-gateway-4711")
    text = "x" * 280 + "sk-quoted-by-a-gateway-4711"  # where what is shown is cut
    replies = [says(text.encode(), status=status, headers={"Content-Type": text}) for status in (200, 200, 400)]
    async with service("openai", *replies, raw(text.encode()), raw(text.encode()), api_key_env="TEST_KEY") as svc:
        seen = []
        for _ in range(3):
            with pytest.raises(ProviderError) as caught:
                await svc.ask()
            seen += [*traceback.format_exception(caught.value), repr(vars(caught.value))]

    assert "sk-quoted" not in "".join(seen) + caplog.text
    assert len(svc.server.received) == 5


def test_a_call_and_an_address_are_shown_without_their_secrets() -> None:
    address = Address.parse("https://someone:pass-word@host.test/v1?key=hidden")
    call = Call("svc", Http().way_to("svc", ProviderSettings(kind="openai"), address), address, {}, QUICK)

    assert repr((call, address)) == "(Call(svc), Address(https://host.test:443))"
