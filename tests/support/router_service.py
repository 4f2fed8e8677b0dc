"""A router of the release harness on loopback: keeps what it was asked, and answers as a test says."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Asked(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def call(self) -> tuple[str, str, int]:
        """The configuration, the prompt and the attempt."""
        return self.body["config"]["id"], self.body["prompt"], self.body["attempt"]


class Router:
    """What a test sees of it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/eval"
        self.asked: list[Asked] = []
        self.answer: Callable[[Asked], str | int] = lambda _asked: "yes"
        """Returns the output, or the status of a refusal."""

    def calls(self) -> list[tuple[str, str, int]]:
        return [asked.call for asked in self.asked]


@contextmanager
def running_router() -> Iterator[Router]:
    """Start it at a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked = Asked(self.command, self.path, {name.lower(): text for name, text in self.headers.items()}, body)
            router.asked.append(asked)
            answer = router.answer(asked)
            status = answer if isinstance(answer, int) else 200
            reply = json.dumps({"error": "as told"} if isinstance(answer, int) else {"output": answer}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    router = Router(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield router
    finally:
        server.shutdown()
        server.server_close()
        thread.join(30)
