"""A provider over HTTP and the server behind it, for tests that look at what goes over the wire."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from calling import Calls
from fault_server import FaultServer, Handler, Received, respond, send

from prompt_evaluator.model import Limits, Message, ProviderSettings, Request

if TYPE_CHECKING:
    import asyncio
    import ssl
    from collections.abc import AsyncIterator

    from prompt_evaluator.calls.meter import RetryEvent
    from prompt_evaluator.model import Answer
    from prompt_evaluator.ports import ModelClient

QUICK = Limits(
    try_timeout=2, deadline=10, max_tries=2, first_backoff=0.01, max_retry_after=0.05, max_reply_bytes=1_000_000
)
PATHS = {"openai": "", "anthropic": "", "router": "/router"}


class Service(NamedTuple):
    server: FaultServer
    provider: ModelClient
    calls: Calls
    events: list[RetryEvent]

    async def ask(self, **request: Any) -> Answer:
        return await self.provider.complete(a_request(**request))

    @property
    def last(self) -> Received:
        return self.server.received[-1]


def a_request(**changes: Any) -> Request:
    return Request(**{"model": "m", "messages": (Message("user", "hello"),), **changes})


@asynccontextmanager
async def service(
    kind: str, *handlers: Handler, path: str | None = None, tls: ssl.SSLContext | None = None, **settings: Any
) -> AsyncIterator[Service]:
    """Serve the handlers one after the other, and good answers when they are used up.

    In `base_url`, HOST stands for the server's host and port.
    """
    events: list[RetryEvent] = []
    async with FaultServer(tls) as server:
        server.handler = in_turn(*handlers)
        base = settings.pop("base_url", server.url + (PATHS[kind] if path is None else path))
        base = base.replace("HOST", f"127.0.0.1:{server.port}")
        entry = ProviderSettings(**{"kind": kind, "base_url": base, "key_required": False, "limits": QUICK, **settings})
        calls = Calls()
        calls.meter.on_retry = events.append
        try:
            yield Service(server, calls.open(entry), calls, events)
        finally:
            await calls.close()


def in_turn(*handlers: Handler) -> Handler:
    left = list(handlers)

    async def handler(server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
        await (left.pop(0) if left else respond)(server, request, writer)

    return handler


def says(body: bytes | dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None) -> Handler:
    async def handler(_server: FaultServer, _request: Received, writer: asyncio.StreamWriter) -> None:
        send(writer, body, status=status, headers=headers)

    return handler


def refuses(message: str, *, status: int = 400, **more: Any) -> Handler:
    return says({"error": {"message": message, **more}}, status=status)
