"""One provider of each kind, and behind it a service that behaves as told: what the contract suite runs on."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Self

from calling import Calls
from certificates import Authority
from fault_server import FAULTS, FaultServer, Handler, Received, good_body, respond, send
from proxy_server import ProxyServer

from prompt_evaluator.model import Limits, Message, ProviderSettings, Request

if TYPE_CHECKING:
    import asyncio

    from prompt_evaluator.model import Answer
    from prompt_evaluator.ports import ModelClient

Behaviour = Literal["answers", "does not count", "fails", "hangs", "fails for now", "repeats"]
"""`fails for now` is what the provider tries again; `repeats` lets `Stand.received` see what arrived."""
WAYS = ("", " through a proxy", " through a tunnel")
"""Straight to the service; forwarded by a proxy; over TLS, past a proxy that sees nothing of it."""
HTTP = tuple(f"{protocol}{way}" for protocol in ("openai", "anthropic", "router") for way in WAYS)
ALL = (*HTTP, "mock", "python", "command")
RETRYING = tuple(kind for kind in ALL if kind != "python")

_GOOD = {"text": "A good answer.", "usage": {"input_tokens": 11, "output_tokens": 7}}
_REPEATS = "import json, sys; print(json.dumps({'text': sys.stdin.read()}))"
_PROGRAMS: dict[Behaviour, str] = {
    "answers": f"cat >/dev/null; echo {shlex.quote(json.dumps(_GOOD))}",
    "does not count": """echo '{"text": "A good answer."}'""",
    "fails": "echo out of order >&2; exit 3",
    "hangs": "sleep 600",
    "fails for now": "echo garbage",
    "repeats": shlex.join([sys.executable, "-ISc", _REPEATS]),
}
_FUNCTIONS: dict[Behaviour, str] = {
    "answers": "answers",
    "does not count": "does_not_count",
    "fails": "fails",
    "hangs": "hangs",
    "repeats": "repeats",
}
_FAULTS: dict[Behaviour, dict[str, Any]] = {
    "fails": {"faults": {"refused": 1.0}},
    "hangs": {"latency_ms": 600_000},
    "fails for now": {"faults": {"unavailable": 1.0}},
}


class Stand:
    """Use as a context: everything is closed at its end."""

    def __init__(self, kind: str, behaviour: Behaviour, **settings: Any) -> None:
        self.kind, self._behaviour, self._settings = kind, behaviour, settings
        self.protocol, _, self._way = kind.partition(" ")
        self.calls = Calls()
        self.server = FaultServer()
        self.proxy = ProxyServer(login="user:pass word")
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._way.endswith("tunnel"):
            authority = Authority(Path(self._stack.enter_context(TemporaryDirectory())))
            self.server = FaultServer(authority.server("127.0.0.1"))
            self._settings = {"ca_file": str(authority.file), **self._settings}
        if self.kind in HTTP:
            await self._stack.enter_async_context(self.server)
            self.server.handler = _handler(self._behaviour)
        if self._way:
            await self._stack.enter_async_context(self.proxy)
            self._settings = {"proxy": self.proxy.url_with("user:pass%20word"), **self._settings}
        self._stack.push_async_callback(self.calls.close)
        self.provider = self._provider()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def model(self) -> str:
        if self.kind == "python":
            return f"contract_targets:{_FUNCTIONS[self._behaviour]}"
        if self.kind == "command":
            return shlex.join(["sh", "-c", _PROGRAMS[self._behaviour]])
        return "m"

    def request(self, **changes: Any) -> Request:
        return Request(**{"model": self.model, "messages": (Message("user", "hello"),), **changes})

    async def ask(self, **changes: Any) -> Answer:
        return await self.provider.complete(self.request(**changes))

    async def received(self, **changes: Any) -> Any:
        """What arrives at the service when it is asked this, as the service reads it. Only where it `repeats`."""
        answer = await self.ask(**changes)
        if self.kind in HTTP:
            return self.server.received[-1].json
        return json.loads(answer.text)

    def _provider(self) -> ModelClient:
        settings = ProviderSettings(
            **{
                "kind": self.protocol,
                "base_url": self._address(),
                "key_required": False,
                "limits": Limits(first_backoff=0.01, max_tries=2),
                "options": _FAULTS.get(self._behaviour, {}) if self.kind == "mock" else {},
                **self._settings,
            }
        )
        return self.calls.open(settings)

    def _address(self) -> str | None:
        return self.server.url + ("/router" if self.protocol == "router" else "") if self.kind in HTTP else None


def _handler(behaviour: Behaviour) -> Handler:
    match behaviour:
        case "answers" | "repeats":
            return respond
        case "does not count":
            return _does_not_count
        case "fails":
            return FAULTS["400"]
        case "hangs":
            return FAULTS["a stall before the reply"]
        case "fails for now":
            return FAULTS["500"]


async def _does_not_count(server: FaultServer, request: Received, writer: asyncio.StreamWriter) -> None:
    body = good_body(server, request)
    body.pop("usage", None)
    send(writer, body)
