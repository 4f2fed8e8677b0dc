"""A chat-completions server on loopback that costs next to nothing, so that the client is what is measured.

usage: chat_server.py [LATENCY_MS [REQUESTS_PER_MINUTE [CONTENT]]]
Prints its port, then answers every POST after the latency. Above the rate it answers 429 with a Retry-After, like a
token bucket with one second of burst, and counts the calls that came back too early. A GET returns the counts.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import sys
import time

# The answer is a verdict by the default rubric, so that the same server can play the judge.
VERDICT = {
    "metrics": {
        name: {"rationale": "It does what was asked for.", "score": 4}
        for name in ("semantic_fidelity", "decomposition_quality", "constraint_adherence")
    },
    "flags": {"invented_constraints": False, "omitted_constraints": False},
    "overall_comment": "A plain and complete answer.",
}


def _reply(content: str) -> bytes:
    body = json.dumps(
        {
            "model": "bench",
            "choices": [{"message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 30},
        }
    ).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


_OK = _reply(sys.argv[3] if len(sys.argv) > 3 else json.dumps(VERDICT))  # noqa: PLR2004
_SLOW_DOWN = (
    b"HTTP/1.1 429 Slow Down\r\nContent-Type: application/json\r\nRetry-After: %d\r\nContent-Length: 2\r\n\r\n{}"
)
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_CALL = re.compile(rb"call (\d+)")


class Limiter:
    """Admits so many requests a minute, and remembers whom it sent away until when."""

    def __init__(self, per_minute: float) -> None:
        self.per_second = per_minute / 60
        self.level, self.at = self.per_second, time.monotonic()
        self.admitted = self.refused = self.early = 0
        self.not_before: dict[bytes, float] = {}

    def reply(self, request: bytes) -> bytes:
        now = time.monotonic()
        found = _CALL.search(request)
        call = found[1] if found else b""
        self.early += now < self.not_before.pop(call, 0)
        self.level = min(self.per_second, self.level + (now - self.at) * self.per_second)
        self.at = now
        if self.level >= 1:
            self.level -= 1
            self.admitted += 1
            return _OK
        self.refused += 1
        wait = math.ceil((1 - self.level) / self.per_second)
        self.not_before[call] = now + wait
        return _SLOW_DOWN % wait


class Connection(asyncio.Protocol):
    """Just enough HTTP for clients that send one request at a time."""

    def __init__(self, latency: float, limiter: Limiter | None) -> None:
        self.latency, self.limiter = latency, limiter
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n") + 4
        if end < 4:  # noqa: PLR2004
            return
        length = _LENGTH.search(self.buffer, 0, end)
        if len(self.buffer) < end + (int(length[1]) if length else 0):
            return
        request, self.buffer = self.buffer, b""
        reply = self._counts() if request.startswith(b"GET") else self._reply(request)
        if self.latency:
            asyncio.get_running_loop().call_later(self.latency, self._write, reply)
        else:
            self._write(reply)

    def _reply(self, request: bytes) -> bytes:
        return self.limiter.reply(request) if self.limiter else _OK

    def _counts(self) -> bytes:
        assert self.limiter is not None
        counts = {name: getattr(self.limiter, name) for name in ("admitted", "refused", "early")}
        body = json.dumps(counts).encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def _write(self, reply: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(reply)


async def serve(latency_ms: float = 0, per_minute: float = 0) -> None:
    """Serve until killed."""
    limiter = Limiter(per_minute) if per_minute else None
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(latency_ms / 1000, limiter), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(*map(float, sys.argv[1:3])))
