"""Replies as real gateways send them: JSON is read whatever it is called and however it is packed."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING

import pytest
from fault_server import FaultServer, Handler, Received, good_body, send
from service import says, service

from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    OversizedReplyError,
    ProviderError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)

if TYPE_CHECKING:
    import asyncio

GOOD = json.dumps(
    {"choices": [{"message": {"content": "Grüße ☺"}, "finish_reason": "stop"}], "model": "m"}, ensure_ascii=False
).encode()
BOM = b"\xef\xbb\xbf"
TYPES = [
    "application/json",
    "application/json; charset=utf-8",
    "text/json",
    "text/plain",
    "text/html",
    "application/octet-stream",
    "application/vnd.api+json",
    "binary",
    "",
    ";",
]


def raw_deflate(data: bytes) -> bytes:
    machine = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return machine.compress(data) + machine.flush()


def in_members(data: bytes, size: int = 7) -> bytes:
    return b"".join(gzip.compress(data[at : at + size]) for at in range(0, len(data), size))


def no_type(body: bytes) -> Handler:
    async def handler(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    return handler


async def text_of(handler: Handler) -> str:
    async with service("openai", handler) as svc:
        return (await svc.ask()).text


@pytest.mark.parametrize("kind", TYPES)
async def test_json_is_read_whatever_its_content_type_says(kind: str) -> None:
    assert await text_of(says(GOOD, headers={"Content-Type": kind})) == "Grüße ☺"


async def test_json_without_a_content_type_is_read() -> None:
    assert await text_of(no_type(GOOD)) == "Grüße ☺"


@pytest.mark.parametrize("kind", ["openai", "anthropic", "router"])
async def test_every_protocol_reads_json_that_claims_to_be_text(kind: str) -> None:
    async def handler(server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
        send(writer, good_body(server, request), headers={"Content-Type": "text/plain"})

    async with service(kind, handler) as svc:
        assert (await svc.ask()).text == svc.server.answer


PACKED = {
    "a byte order mark": (BOM + GOOD, ""),
    "blanks around it": (b" \r\n\t" + GOOD + b"\r\n\r\n", ""),
    "identity": (GOOD, "identity"),
    "gzip": (gzip.compress(GOOD), "gzip"),
    "gzip in capitals": (gzip.compress(GOOD), "GZIP"),
    "x-gzip": (gzip.compress(GOOD), "x-gzip"),
    "gzip in members": (in_members(GOOD), "gzip"),
    "gzip with an empty member": (gzip.compress(b"") + gzip.compress(GOOD) + gzip.compress(b""), "gzip"),
    "gzip with padding": (gzip.compress(GOOD) + b"\0" * 512, "gzip"),
    "gzip with a line break behind it": (gzip.compress(GOOD) + b"\r\n", "gzip"),
    "gzip of a byte order mark": (gzip.compress(BOM + GOOD), "gzip"),
    "deflate as zlib": (zlib.compress(GOOD), "deflate"),
    "deflate as its name says": (raw_deflate(GOOD), "deflate"),
    "deflate without compression": (zlib.compress(GOOD, 0), "deflate"),
    "deflate that is gzip": (gzip.compress(GOOD), "deflate"),
    "gzip that something on the way has unpacked": (GOOD, "gzip"),
    "deflate that something on the way has unpacked": (GOOD, "deflate"),
    "an encoding that is a character set": (GOOD, "UTF-8"),
}


@pytest.mark.parametrize(("body", "encoding"), PACKED.values(), ids=list(PACKED))
async def test_json_is_read_however_it_is_packed(body: bytes, encoding: str) -> None:
    assert await text_of(says(body, headers={"Content-Encoding": encoding} if encoding else None)) == "Grüße ☺"


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (rb"a \ud83d b", "a \ufffd b"),
        (rb"\uDE00\ud83d", "\ufffd\ufffd"),
        (rb"\ud83d \ud83d\ude00 \\ud83d", "\ufffd \U0001f600 \\ud83d"),
    ],
    ids=["half a pair", "in the wrong order", "beside a whole one"],
)
async def test_half_of_a_surrogate_pair_is_replaced(escaped: bytes, text: str) -> None:
    async with service("openai", says(GOOD.replace("Grüße ☺".encode(), escaped))) as svc:
        answer = await svc.ask()

    assert (answer.text, answer.tries) == (text, 1)


@pytest.mark.parametrize("damage", [b'{"a": "\\ud83d"', b'{"a": "\\ud83d", "b": NaN}', b'["\\ud83d", 1' + b"0" * 9_999])
async def test_what_is_not_json_stays_an_error_with_half_of_a_pair(damage: bytes) -> None:
    async with service("openai", *[says(damage)] * 2) as svc:
        with pytest.raises(BadReplyError):
            await svc.ask()


async def test_a_packed_refusal_is_read_too() -> None:
    body = gzip.compress(BOM + b'{"error": {"message": "no such field"}}')
    async with service("openai", says(body, status=400, headers={"Content-Encoding": "gzip"})) as svc:
        with pytest.raises(RequestRefusedError, match=r"\(400\): no such field"):
            await svc.ask()


REFUSED: dict[str, tuple[int, str, bytes, type[ProviderError], str]] = {
    "a page that claims to be gzip": (429, "gzip", b"<html>Slow down</html>", RateLimitedError, "Slow down"),
    "JSON that claims to be deflate": (400, "deflate", b'{"error": {"message": "no"}}', RequestRefusedError, "no"),
    "an encoding nobody asked for": (401, "br", b"\x8b\x02\x80\xff\xfe", AuthenticationError, "5 bytes that are not"),
    "gzip that was cut": (503, "gzip", gzip.compress(GOOD)[:-9], UnavailableError, "bytes that are not text"),
    "gzip beyond the limit": (403, "gzip", gzip.compress(b" " * 1_100_000), AuthenticationError, ""),
}


@pytest.mark.parametrize(("status", "encoding", "body", "kind", "what"), REFUSED.values(), ids=list(REFUSED))
async def test_a_refusal_stays_what_its_status_says_however_it_is_packed(
    status: int, encoding: str, body: bytes, kind: type[ProviderError], what: str
) -> None:
    headers = {"Content-Encoding": encoding, "Retry-After": "0.01"}
    async with service("openai", *[says(body, status=status, headers=headers)] * 2) as svc:
        with pytest.raises(kind, match=rf"\({status}\): .*{what}") as caught:
            await svc.ask()

    assert type(caught.value) is kind
    assert caught.value.retry_after == (0.01 if kind.retried else None)


NOT_JSON = {
    "a page": (
        b"<html>It works!</html>",
        {"Content-Type": "text/html"},
        "is text/html, not JSON: .* it starts with '<",
    ),
    "a text": (b"I am fine.", {"Content-Type": "text/plain; charset=x"}, r"is text/plain, not JSON: .* 'I am fine\.'"),
    "a page that claims to be JSON": (b"<html>", {}, r"is not the JSON it claims to be: .* it starts with '<html>'"),
    "no type": (b"hello", {"Content-Type": ""}, r"is of unknown type, not JSON: .* it starts with 'hello'"),
    "half of it": (GOOD[:20], {}, r"is not the JSON it claims to be: .* it starts with '{\"choices"),
    "events": (b"data: {}\n\n", {"Content-Type": "text/event-stream"}, r"is text/event-stream, not JSON"),
    "another encoding": (
        b"\x8b\xff",
        {"Content-Encoding": "br"},
        "is encoded as 'br', which was not requested; it starts with 2 bytes that are not text",
    ),
    "gzip that is none": (
        b"<html>It works!</html>",
        {"Content-Encoding": "gzip"},
        "is not the gzip it claims to be: .*; it starts with '<html>It works!</html>'",
    ),
    "deflate that is none": (b"\xff\xff", {"Content-Encoding": "deflate"}, "is not the deflate it claims to be"),
    "gzip that was cut": (gzip.compress(GOOD)[:-9], {"Content-Encoding": "gzip"}, "is truncated gzip"),
    "a second member that was cut": (
        gzip.compress(GOOD[:9]) + gzip.compress(GOOD[9:])[:-9],
        {"Content-Encoding": "gzip"},
        "is truncated gzip",
    ),
    "countless members": (gzip.compress(b"") * 10_000, {"Content-Encoding": "gzip"}, "in more than 256 parts"),
    "nothing but a byte order mark": (BOM, {}, "the reply is empty"),
}


@pytest.mark.parametrize(("body", "headers", "what"), NOT_JSON.values(), ids=list(NOT_JSON))
async def test_what_is_not_json_is_an_error_that_quotes_its_start(
    body: bytes, headers: dict[str, str], what: str
) -> None:
    async with service("openai", *[says(body, headers=headers)] * 2) as svc:
        with pytest.raises(BadReplyError, match=what):
            await svc.ask()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b" " * 900_000) * 2, "gzip"),
        (raw_deflate(b" " * 1_100_000), "deflate"),
        (zlib.compress(b" " * 1_100_000), "deflate"),
    ],
    ids=["members together", "raw deflate", "zlib"],
)
async def test_no_way_of_packing_goes_beyond_the_limit(body: bytes, encoding: str) -> None:
    async with service("openai", says(body, headers={"Content-Encoding": encoding})) as svc:
        with pytest.raises(OversizedReplyError, match="compressed bytes expand to more"):
            await svc.ask()


async def test_the_start_that_is_quoted_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-quoted-by-a-gateway")
    replies = [says(b"you sent sk-quoted-by-a-gateway", headers={"Content-Type": "text/sk-quoted-by-a-gateway"})] * 2
    async with service("openai", *replies, api_key_env="TEST_KEY") as svc:
        with pytest.raises(BadReplyError, match=r"text/\[secret\], not JSON.*'you sent \[secret\]'"):
            await svc.ask()
