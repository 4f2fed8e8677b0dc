"""A site in this process, asked without a socket: thousands of requests take seconds."""

from __future__ import annotations

import asyncio
import json
from contextlib import chdir, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import msgspec
from click.testing import CliRunner

from prompt_evaluator.app.server_settings import server_settings
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import ServedSettings
from prompt_evaluator.cli.main import cli
from prompt_evaluator.server.application import make_application
from prompt_evaluator.server.feeds import Feeds
from prompt_evaluator.server.site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    Headers = Sequence[tuple[str, str]]

_SECONDS = 120
HOST = ("host", "localhost:8080")
JSON = ("content-type", "application/json")
_RUNS = (("mock/default", "1"), ("mock/default", "2"), ("mock/other", "1"))
_CONFIGS = [{"id": "plain", "provider": "mock", "router": "none", "model": "default"}]


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class AsgiSite:
    """Asks a site as a server would."""

    def __init__(self, site: Site, run_ids: Sequence[str]) -> None:
        self.site, self.run_ids = site, run_ids
        self.application = make_application(site)
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        self.site.settings.opened.close_for_good()

    def ask(
        self, method: str, target: str, *, headers: Headers = (HOST,), body: bytes | Sequence[bytes] = b""
    ) -> Answer:
        """Send exactly these headers. A body in pieces is sent without its length."""
        return self._loop.run_until_complete(self._asked(method, target, headers, body))

    def send(self, method: str, target: str, value: Any = None, *, headers: Headers = ()) -> Answer:
        """Send JSON as a well-behaved client does."""
        body = b"" if value is None else json.dumps(value).encode()
        length = ("content-length", str(len(body)))
        return self.ask(method, target, headers=(HOST, *((JSON, length) if body else ()), *headers), body=body)

    async def _asked(self, method: str, target: str, headers: Headers, body: bytes | Sequence[bytes]) -> Answer:
        path, _, query = target.partition("?")
        pieces = [body] if isinstance(body, bytes) else list(body)
        messages = [
            {"type": "http.request", "body": piece, "more_body": at < len(pieces)} for at, piece in enumerate(pieces, 1)
        ]
        sent: list[dict[str, Any]] = []
        over = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop(0)
            await over.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(dict(message))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                over.set()

        async with asyncio.timeout(_SECONDS):
            await self.application(_scope(method, path, query, headers), receive, send)
        start = sent[0]
        return Answer(
            start["status"],
            [(key.decode().lower(), value.decode("latin-1")) for key, value in start["headers"]],
            b"".join(message.get("body", b"") for message in sent[1:]),
        )


def _scope(method: str, path: str, query: str, headers: Headers) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("utf-8", "surrogateescape"),
        "query_string": query.encode("utf-8", "surrogateescape"),
        "root_path": "",
        "headers": [(name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in headers],
        "client": ("127.0.0.1", 4711),
        "server": ("127.0.0.1", 8080),
        "state": {},
    }


@contextmanager
def asgi_site(folder: Path, *, make: bool = True, **server: Any) -> Iterator[AsgiSite]:
    """A site over a store with three finished runs, or with `make` False over the one that is in the folder.

    Settings of the server may be replaced.
    """
    with chdir(folder):
        ids = tuple(_made(model, samples) for model, samples in _RUNS) if make else ()
        settings = ServedSettings.of(read_settings())
        chosen = msgspec.structs.replace(server_settings(settings), **server)
        site = Site(
            settings=settings,
            server=chosen,
            needs_token=chosen.tokens_needed,
            feeds=Feeds(settings),
            secure=(chosen.public_url or "").startswith("https:"),
        )
        made = AsgiSite(site, ids)
        try:
            yield made
        finally:
            made.close()


def said(*arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints."""
    done = CliRunner().invoke(cli, arguments, env=environment, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def _made(model: str, samples: str) -> str:
    options = ("--dataset", "basic-coding", "--model", model, "--metrics", "correctness", "--num-samples", samples)
    run_id: str = json.loads(said("benchmark", "run", *options, "--json"))["runs"][0]["run_id"]
    return run_id
