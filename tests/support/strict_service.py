"""A model service on loopback that refuses, answers and charges as the services of November 2026 do.

It takes nothing from the product, and so can say whether the product is right. What a user's message begins with may
direct it: `[say] text`, `[think:N]` (tokens of reasoning), `[fault NAME]`, `[fault NAME:DETAIL xTIMES]`. Faults are

- refusals: `refusal` (of a category, at Anthropic), `content-filter` (`:empty` for a text instead of none), `policy`
  (an error; of a code), `failed` (Responses; of a code);
- `length`, `context`, `thinking` (that used up the limit), `empty`, `pause`, `phases`, `surrogate`, `prose`;
- `401` (until the key is another), `402`, `403`, `413`, `429` (of a code), `500`, `503`, `504`, `529`: those that pass
  come once, if TIMES says nothing else;
- `unreadable` (charged, with usage, without an answer), `broken` (charged, not JSON), `error-200`, `error`.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import yaml
from strict_answers import FACTS, SERVICES, Ask, Bill, Refused, Service, State, filled
from strict_anthropic import messages
from strict_openai import chat, responses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_PROTOCOLS = {"chat": chat, "responses": responses, "messages": messages}
_ENDS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
_LIMITS = {  # so high that nobody has to wait for them
    "openai": {"x-ratelimit-limit-requests": "900000", "x-ratelimit-remaining-requests": "899999",
               "x-ratelimit-reset-requests": "6ms", "x-ratelimit-limit-tokens": "900000000",
               "x-ratelimit-remaining-tokens": "899999000", "x-ratelimit-reset-tokens": "6ms"},
    "azure": {"x-ratelimit-limit-tokens": "-1", "x-ratelimit-remaining-tokens": "0"},  # which means: unknown
    "anthropic": {"anthropic-ratelimit-requests-limit": "900000", "anthropic-ratelimit-requests-remaining": "899999",
                  "anthropic-ratelimit-requests-reset": "2026-11-19T12:00:00Z"},
    "groq": {"x-ratelimit-limit-requests": "900000000", "x-ratelimit-remaining-requests": "899999999",  # of a day
             "x-ratelimit-reset-requests": "2m59.56s"},
    "mistral": {"x-ratelimit-limit-req-minute": "900000", "x-ratelimit-remaining-req-minute": "899999"},
}  # fmt: skip


@dataclass
class Call:
    """A request, and what came of it."""

    path: str
    headers: dict[str, str]
    """Version and content type; of keys, only which header carried one."""
    body: Any
    service: str = ""
    protocol: str = ""
    model: str = ""
    """Without prefix and date; of a deployment, what it is of."""
    judge: bool = False
    ignored: list[str] = field(default_factory=list)
    """What was accepted and had no effect."""
    status: int = 0
    param: str | None = None
    """What a refusal names."""
    reply: Any = None
    broken: bool = False
    """Only half of the reply was sent."""
    bill: Bill | None = None
    """None if nothing is charged."""


class StrictService:
    """The service as a test sees it."""

    def __init__(self, port: int, state: State, latency: float) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.state, self.latency = state, latency
        self.log: list[Call] = []
        self.lock = threading.Lock()

    def base(self, service: str) -> str:
        """The base address of a service, as its users configure it; Anthropic's is that of the host."""
        base = SERVICES[service].base.replace(r"[\w-]+", "p1")
        return self.url if service == "anthropic" else self.url + base

    def answered(self, path: str, headers: dict[str, str], data: bytes) -> tuple[int, Mapping[str, str], bytes]:
        kept = ("anthropic-version", "anthropic-beta", "content-type")
        shown = {name: headers[name] for name in kept if name in headers}
        shown |= {name: "sent" for name in ("authorization", "x-api-key", "api-key") if name in headers}
        call = Call(path, shown, None)
        with self.lock:
            self.log.append(call)
            service, call.protocol = _routed(path)
            call.service = service.name
            sent: Mapping[str, str] = {}
            try:
                call.status, call.reply, sent = 200, *self._reply(service, call, headers, data)
            except Refused as refused:
                call.status, call.param, sent = refused.status, refused.param, refused.headers
                call.reply = _error(service, call, refused, self.state)
        reply = json.dumps(call.reply).encode()
        return call.status, sent, reply[: len(reply) // 2] if call.broken else reply

    def _reply(
        self, service: Service, call: Call, headers: dict[str, str], data: bytes
    ) -> tuple[dict[str, Any], dict[str, str]]:
        if call.protocol not in service.speaks.split():
            raise Refused(f"Unknown request URL: POST {call.path}", code="unknown_url", status=404)
        try:
            call.body = json.loads(data)
        except ValueError:
            raise Refused("We could not parse the JSON body of your request.") from None
        key = _key(service, call.protocol, headers)
        if key in self.state.bad_keys:
            kind = "authentication_error" if call.protocol == "messages" else "invalid_request_error"
            raise Refused("Incorrect API key provided.", code="invalid_api_key", status=401, kind=kind)
        if call.body.get("stream") or (call.body.get("n", 1) != 1 and service.name != "groq"):
            raise Refused("Streams and several answers are not made up here.", status=501)
        ask = Ask(service, call.protocol, call.body, headers, key)
        try:
            reply, call.bill = _PROTOCOLS[call.protocol](ask, self.state)
        except (AttributeError, KeyError, TypeError) as error:
            raise Refused(f"The request is not of this protocol: {error!r}") from error
        finally:
            call.model, call.judge, call.ignored, call.broken = ask.model, ask.judge, ask.ignored, ask.broken
        more = dict(_LIMITS.get(service.name, {}))
        if service.shape == "litellm" and call.bill:
            more |= {"x-litellm-response-cost": str(call.bill.stated_cost), "x-litellm-model-id": f"id-of-{call.model}"}
        return reply, more


def _routed(path: str) -> tuple[Service, str]:
    for service in SERVICES.values():
        for protocol in service.speaks.split():
            base = service.messages if protocol == "messages" and service.messages else service.base
            if re.fullmatch(base + _ENDS[protocol], path):
                return service, protocol
    return SERVICES["openai"], ""


def _key(service: Service, protocol: str, headers: dict[str, str]) -> str:
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    own = "x-api-key" if protocol == "messages" else service.key
    key = headers.get(own) or bearer
    if not key and service.key:
        kind = "authentication_error" if protocol == "messages" else "invalid_request_error"
        raise Refused("You didn't provide an API key.", code="invalid_api_key", status=401, kind=kind)
    return key


def _error(service: Service, call: Call, refused: Refused, state: State) -> Any:
    """An error in the service's shape."""
    text, code, status = refused.message, refused.code, refused.status
    shape = "anthropic" if call.protocol == "messages" else service.shape
    shape = "mistral" if status == 422 else shape
    named: dict[str, Any] = {"message": text, "type": refused.kind, "param": refused.param, "code": code}
    if shape == "anthropic":
        told = {"type": refused.kind, "message": text} | ({"code": code} if code else {})
        return {"type": "error", "error": told, "request_id": "req_1"}
    if shape == "gemini":
        words = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
        error: dict[str, Any] = {"code": status, "message": text, "status": words.get(status, "UNAVAILABLE")}
        return [{"error": error | ({"details": [{"retryDelay": f"{state.retry_after}s"}]} if status == 429 else {})}]
    if status == 422:
        extra = [{"type": "extra_forbidden", "loc": ["body", name], "msg": text} for name in refused.drop]
        named |= {"message": {"detail": extra}}
    if shape == "mistral":
        return {"object": "error", **named, "param": None}
    if shape == "xai":
        return {"code": code or "Client specified an invalid argument", "error": text}
    if shape == "openrouter":
        return {"error": {"code": status, "message": text}}
    return {"error": named | ({"code": str(status)} if shape == "litellm" else {})}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = -1, True
    server: _Server

    def do_POST(self) -> None:
        service = self.server.service
        data = self.rfile.read(int(self.headers.get("content-length", "0")))
        if service.latency:
            threading.Event().wait(service.latency)
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, more, reply = service.answered(self.path, headers, data)
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(reply)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Say nothing: the log is `StrictService.log`."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1_024
    service: StrictService

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # clients may hang up
            super().handle_error(request, client_address)


@contextmanager
def strict_service(*, latency: float = 0.0, **told: Any) -> Iterator[StrictService]:
    """Serve; `latency` in seconds, for tests of requests at the same time; the rest is of `State`:

    `answer(ask)` and `fault(ask)` may give a text, and a fault; `tool_answers` maps a part of the user's message to
    calls, each a name and args; `retry_after` is what goes into that header; `bad_keys` are refused.
    """
    with _Server(("127.0.0.1", 0), _Handler) as server:
        service = server.service = StrictService(server.server_port, State(**told), latency)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()


def billed(log: Iterable[Call]) -> list[Bill]:
    """What each request is charged for, of those that are charged."""
    return [call.bill for call in log if call.bill]


def list_price(call: Call) -> float:
    """Dollars, by the list of 19 November; an hour in the cache costs twice the input."""
    if call.bill is None:
        return 0.0
    read, cached, write, output = FACTS["prices"][call.model]
    bill = call.bill
    fresh = bill.input - bill.cached - bill.written
    written = (bill.written - bill.written_1h) * write + bill.written_1h * read * 2
    return float(fresh * read + bill.cached * cached + written + bill.output * output) / 1_000_000


def tool_answers_of(suite: Path) -> dict[str, list[dict[str, Any]]]:
    """What a suite's file expects, as `tool_answers`."""
    answers = {}
    for task in yaml.safe_load(suite.read_text("utf-8"))["tasks"]:
        schemas = {tool["name"]: tool["parameters"] for tool in task.get("tools") or ()}
        calls = [{"name": name, "args": filled(schemas[name])} for name in task.get("expected_tool_sequence") or ()]
        for call in task.get("expected_tools") or ():
            args = json.loads(call["args"]) if isinstance(call["args"], str) else call["args"]
            calls.append({"name": call["name"], "args": {name: _plain(value) for name, value in args.items()}})
        answers[task["input"].strip()] = calls
    return answers


def _plain(value: Any) -> Any:
    """A value that an expectation allows."""
    if not isinstance(value, dict):
        return value
    return value["$one_of"][0] if "$one_of" in value else value.get("$contains", value)
