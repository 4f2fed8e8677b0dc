"""A chat-completions server on loopback that costs next to nothing, so that the client is what is measured.

usage: chat_server.py LATENCY_MS
Prints its port, then answers every request after the latency.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The answer is a verdict by the default rubric, so that the same server can play the judge.
VERDICT = {
    "metrics": {
        name: {"rationale": "It does what was asked for.", "score": 4}
        for name in ("semantic_fidelity", "decomposition_quality", "constraint_adherence")
    },
    "flags": {"invented_constraints": False, "omitted_constraints": False},
    "overall_comment": "A plain and complete answer.",
}
_BODY = json.dumps(
    {
        "model": "bench",
        "choices": [{"message": {"role": "assistant", "content": json.dumps(VERDICT)}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 30},
    }
).encode()
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


_ANSWER = response(_BODY)


class Connection(asyncio.Protocol):
    """Just enough HTTP for clients that send one request at a time."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
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
        reply = self.reply(request)
        if self.latency:
            asyncio.get_running_loop().call_later(self.latency, self._write, reply)
        else:
            self._write(reply)

    def reply(self, request: bytes) -> bytes:  # noqa: ARG002 - read by the service for other tools
        return _ANSWER

    def _write(self, reply: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(reply)


@contextmanager
def server(latency_ms: int) -> Iterator[str]:
    """The address of this server, which runs as long as the block does."""
    process = subprocess.Popen([sys.executable, __file__, str(latency_ms)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.communicate()


async def serve(latency_ms: float, kind: type[Connection] = Connection) -> None:
    """Serve until killed."""
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: kind(latency_ms / 1000), "127.0.0.1", 0, backlog=4096)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
