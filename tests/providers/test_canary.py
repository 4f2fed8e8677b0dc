"""A key planted everywhere a key can be, echoed by the service in every way: nobody gets to see it."""

from __future__ import annotations

import html
import json
import logging
import re
import traceback
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, unquote_plus

import msgspec
import pytest
from entries import each
from fault_server import FaultServer, Handler, Received, send
from service import service

from prompt_evaluator.errors import ProviderError

if TYPE_CHECKING:
    import asyncio


def places(canary: str, file: Path) -> dict[str, dict[str, Any]]:
    """The settings that hold a key, by where it is. The environment and the file hold it as well."""
    in_address = quote(canary, safe="")
    return {
        "environment": {"api_key_env": "TEST_CANARY"},
        "file": {"api_key_file": str(file)},
        "header for the key": {"api_key_env": "TEST_CANARY", "api_key_header": "api-key"},
        "password of the address": {"base_url": f"http://someone:{in_address}@HOST"},
        "user of the address": {"base_url": f"http://{in_address}@HOST"},
        "query of the address": {"base_url": f"http://HOST?key={in_address}"},
        "query": {"query": {"code": canary}},
        "authorization header": {"headers": {"Authorization": f"Bearer {canary}"}},
        "header that is a key by its name": {"headers": {"X-Portkey-Virtual-Key": canary}},
        "header that is a key by its looks": {"headers": {"X-Bypass": canary}},
    }


class Echoed(NamedTuple):
    """What a careless service replies."""

    body: bytes | dict[str, Any] = b""
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - nobody writes to it


Echo = Callable[[str], Echoed]


def refusal(status: int) -> Echo:
    return lambda text: Echoed({"error": {"message": f"bad key {text}", "code": text}}, status)


def page(text: str) -> bytes:
    return f"<html><p>{html.escape(text)}</html>".encode()


def codes(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


def location(text: str) -> Echoed:
    target = f"http://elsewhere.test/?k={quote(text, safe='')}&l={quote(text)}&m={text}"
    return Echoed(status=302, headers={"Location": target})


def message(text: str, content: dict[str, Any]) -> Echoed:
    return Echoed({"choices": [{"message": content, "finish_reason": text}], "model": text})


def tool_call(text: str, arguments: str) -> Echoed:
    return message(text, {"tool_calls": [{"id": text, "function": {"name": text, "arguments": arguments}}]})


def answer(text: str) -> Echoed:
    """An answer in every protocol."""
    blocks = [{"type": "text", "text": text}, {"type": "tool_use", "id": text, "name": text, "input": {text: [text]}}]
    choice = {"message": {"content": text}, "finish_reason": text}
    return Echoed({"output": text, "content": blocks, "stop_reason": text, "choices": [choice], "model": text})


def answer_in_codes(text: str) -> Echoed:
    plain = json.dumps(answer("ECHO").body)
    return Echoed(plain.replace("ECHO", codes(text)).encode())


def logprobs(text: str) -> Echoed:
    tokens = [{"token": text, "logprob": -1.0, "top_logprobs": [{"token": text, "logprob": -1.0}]}]
    return Echoed({"choices": [{"message": {"content": "x"}, "logprobs": {"content": tokens}}]})


ECHOES: dict[str, Echo] = {
    **{f"status {status}": refusal(status) for status in (302, 400, 401, 402, 403, 404, 422, 429, 500, 503)},
    "text": lambda text: Echoed(text.encode(), 500, {"Content-Type": "text/plain"}),
    "HTML with 200": lambda text: Echoed(page(text), 200, {"Content-Type": "text/html"}),
    "HTML with 502": lambda text: Echoed(page(text), 502),
    "HTML that claims to be JSON": lambda text: Echoed(page(text)),
    "Location": location,
    "Content-Type": lambda text: Echoed(b"{}", 200, {"Content-Type": text}),
    "Content-Encoding": lambda text: Echoed(b"{}", 200, {"Content-Encoding": text}),
    "Retry-After": lambda text: Echoed(b"{}", 429, {"Retry-After": text}),
    "broken JSON": lambda text: Echoed(f'{{"choices": "{text}'.encode()),
    "JSON of another shape": lambda text: Echoed({"choices": text, "content": text, "output": [text]}),
    "no choices": lambda text: Echoed({"error": {"message": text}}),
    "codes in a refusal": lambda text: Echoed(f'{{"error": {{"message": "{codes(text)}"}}}}'.encode(), 400),
    "codes in an answer": answer_in_codes,
    "codes in broken JSON": lambda text: Echoed(f'{{"choices": "{codes(text)}'.encode()),
    "an answer": answer,
    "arguments": lambda text: tool_call(text, json.dumps({text: [text]})),
    "arguments in codes": lambda text: tool_call(text, f'{{"a": "{codes(text)}"}}'),
    "arguments that are no JSON": lambda text: tool_call(text, f"{{{text}"),
    "content in parts": lambda text: message(text, {"content": [{"text": text}]}),
    "a declined request": lambda text: message(text, {"refusal": text}),
    "a finish reason without content": lambda text: message(text, {"content": None}),
    "logprobs": logprobs,
}


class Sighting(NamedTuple):
    """What a caller gets to see, and what the service got."""

    seen: str
    requests: list[Received]


def echoing(echo: Echo, canary: str) -> Handler:
    """Quote the canary and the whole request, which may carry it in another spelling."""

    async def handler(_server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
        text = f"{canary} {quote(canary, safe='')} {request.path} {request.headers}"
        echoed = echo(text)
        send(writer, echoed.body, status=echoed.status, headers=echoed.headers)

    return handler


async def look(kind: str, echo: Echo, canary: str, settings: dict[str, Any]) -> Sighting:
    parts: list[object] = []
    async with service(kind, *[echoing(echo, canary)] * 4, **settings) as svc:
        for _ in range(2):
            try:
                found = await svc.ask()
            except ProviderError as error:
                parts += [error, repr(error), vars(error), *traceback.format_exception(error)]
            else:
                parts += [found, msgspec.json.encode(found).decode()]
        parts += [svc.events, vars(svc.calls.meter)]
    return Sighting("\n".join(map(str, parts)), svc.server.received)


def readings(text: str) -> list[str]:
    """The text, and what somebody who knows about encodings reads in it."""
    decoded = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text)
    logins = [b64decode(found).decode(errors="replace") for found in re.findall(r"Basic ([\w+/]{8,}=*)", text)]
    return [text, decoded, unquote(text), unquote_plus(text), html.unescape(text), text.replace("\\/", "/"), *logins]


def canary_of(*names: str) -> str:
    """Another one for each: the redactor remembers those of before."""
    return f"sk-{sha256(str(names).encode()).hexdigest()[:20]}/+Q=9"


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        *(("openai", place) for place in places("", Path())),
        *((kind, place) for kind in ("anthropic", "router") for place in ("environment", "password of the address")),
    ],
)
@each("echo", ECHOES)
async def test_no_echo_of_a_key_gets_through(  # noqa: PLR0913, PLR0917
    kind: str, place: str, echo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    canary, file = canary_of(kind, place, echo), tmp_path / "key"
    file.write_text(canary)
    monkeypatch.setenv("TEST_CANARY", canary)

    sighting = await look(kind, ECHOES[echo], canary, places(canary, file)[place])

    carried = [text for request in sighting.requests for text in readings(f"{request.path} {request.headers}")]
    assert any(canary in text for text in carried), "the request carries the canary, or this test proves nothing"
    assert not any(canary in text for text in readings(sighting.seen + caplog.text))


async def test_a_canary_that_nobody_planted_is_seen() -> None:
    canary = canary_of("nobody's")

    sighting = await look("openai", ECHOES["an answer"], canary, {})

    assert canary in sighting.seen
