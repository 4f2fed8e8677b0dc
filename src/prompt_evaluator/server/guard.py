"""Checks every request before anything else sees it, and adds headers to every answer.

A page elsewhere can make a browser send requests here. It cannot send the right `Origin`, and it cannot read an answer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from prompt_evaluator.server.paths import with_whole_parts
from prompt_evaluator.server.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 1_000_000
DEEPEST = 32
"""Brackets within brackets in a body."""
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_ONCE = ("host", "origin", "sec-fetch-site", "content-type", "content-length", "content-encoding", "authorization")
"""Headers that must not be sent twice: two readers could believe different ones."""
_OF_PROXIES = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded", "x-real-ip")
_SAFE = ("GET", "HEAD", "OPTIONS")
_OWN_SITE = ("same-origin", "none")
_JSON = "application/json"
_BRACKETS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
"""Texts as a whole, also one without an end, and brackets. It never goes back, so it takes a time that grows with the
length and not faster."""
_HOST = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?")
_LARGE = 10_000
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""An answer that says something else about one of these keeps it."""


class Guard:
    """An ASGI application around another one."""

    def __init__(self, inner: Application, allowed_hosts: Iterable[str] = (), *, allows_proxies: bool = False) -> None:
        """Take the application to protect.

        Args:
            inner: Gets only requests that pass.
            allowed_hosts: Names, or names with a port, besides those of this machine's loopback.
            allows_proxies: Whether requests may come through a proxy: not where everybody who can connect is trusted,
                because a proxy lets others connect.
        """
        self._inner, self._allows_proxies = inner, allows_proxies
        self._hosts = {*LOOPBACK, *(host.lower() for host in allowed_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        answer = _with_headers(send)
        try:
            headers = _headers(scope)
            self._check_host(headers)
            self._check_proxy(headers)
            if scope["method"] == "OPTIONS":  # there is no CORS, so nobody has to ask: as any method that is not taken
                scope = {**scope, "method": "UNKNOWN"}
            if scope["method"] not in _SAFE:
                _check_origin(headers)
                _check_type(headers)
                body = await _body(headers, receive)
                if body and "content-type" not in headers:
                    raise _not_json()
                receive = _replayed(body, receive)
        except Refusal as refusal:
            await _refuse(refusal, answer)
            return
        await self._inner(with_whole_parts(scope), receive, answer)

    def _check_host(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "").lower()
        if (parts := _HOST.fullmatch(host)) and not {host, parts[1]}.isdisjoint(self._hosts):
            return
        raise Refusal(
            403,
            f"The Host {host[:200]!r} is not allowed. Use localhost, or add the name to server.allowed_hosts.",
            "Host",
        )

    def _check_proxy(self, headers: dict[str, str]) -> None:
        sent = next((name for name in _OF_PROXIES if name in headers), None)
        if sent is not None and not self._allows_proxies:
            raise Refusal(
                403,
                "This came through a proxy, but the server answers this machine alone. Set server.public_url to the "
                "address that people use; then everybody needs a token.",
                sent,
            )


def _headers(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").lower()
        if name in found and name in _ONCE:
            status = 403 if name in ("host", "origin", "sec-fetch-site") else 400
            raise Refusal(status, f"The header {name} is sent twice. Send it once.", name.title())
        found[name] = raw_value.decode("latin-1")
    return found


def _check_origin(headers: dict[str, str]) -> None:
    origin, host = headers.get("origin"), headers.get("host", "").lower()
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        raise Refusal(403, f"A page of {origin[:200]!r} may not change anything here.", "Origin")
    site = headers.get("sec-fetch-site")
    if site is not None and site not in _OWN_SITE:
        raise Refusal(403, "A page of another site may not change anything here.", "Sec-Fetch-Site")


def _check_type(headers: dict[str, str]) -> None:
    kind, _, parameters = headers.get("content-type", "").partition(";")
    has_body = headers.get("content-length", "0").strip() != "0" or "transfer-encoding" in headers
    if not has_body and not kind:
        return
    charset = parameters.strip().lower().replace('"', "")
    if kind.strip().lower() != _JSON or charset not in ("", "charset=utf-8"):
        raise _not_json()
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "The body must not be compressed.", "Content-Encoding")


def _not_json() -> Refusal:
    return Refusal(415, f"The body has to be JSON: send it with `Content-Type: {_JSON}`.", "Content-Type")


async def _body(headers: dict[str, str], receive: Receive) -> bytes:
    """The whole body, if it is neither too long nor too deep."""
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise Refusal(400, "Content-Length is not a number.", "Content-Length")
    if len(length) > len(str(LARGEST_BODY)) or int(length) > LARGEST_BODY:
        raise _too_large()
    found = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refusal(400, "The request ended before its body did.")
        found += message.get("body", b"")
        if len(found) > LARGEST_BODY:
            raise _too_large()
        if not message.get("more_body"):
            break
    depth = _depth(found) if len(found) < _LARGE else await to_thread.run_sync(_depth, found)
    if depth > DEEPEST:
        raise Refusal(400, f"The body is nested more than {DEEPEST} levels deep.")
    return bytes(found)


def _too_large() -> Refusal:
    return Refusal(413, f"The body has more than {LARGEST_BODY:,} bytes. Send less at once.")


def _depth(body: bytes | bytearray) -> int:
    deepest = depth = 0
    for found in _BRACKETS.finditer(body):
        mark = found[0]
        if mark in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
        elif mark in (b"]", b"}"):
            depth -= 1
    return deepest


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once more."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return first.pop() if first else await receive()

    return replayed


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in given]
            message["headers"] = [*message.get("headers", ()), *more]
        await send(message)

    return sent


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = refusal.encoded()
    headers = [(b"content-type", _JSON.encode()), (b"content-length", str(len(body)).encode())]
    if refusal.status in (400, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
