"""A process that makes calls turns to the configured address, or to the proxy that is named, and to nobody else."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import watched_call
from fault_server import FaultServer
from proxy_server import ProxyServer
from service import says

if TYPE_CHECKING:
    from fault_server import Handler

PROXY = "http://127.0.0.3:9"
PROXIES = {name: PROXY for each in ("http", "https", "all") for name in (f"{each}_proxy", f"{each.upper()}_PROXY")}
QUICK = {"max_tries": 2, "first_backoff": 0.01, "try_timeout": 5, "max_retry_after": 0.05}


async def run(settings: dict[str, Any], model: str = "m", **environment: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        watched_call.__file__,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    order = {"settings": {"limits": QUICK, "key_required": False, **settings}, "model": model}
    output, _ = await process.communicate(json.dumps(order).encode())
    assert process.returncode == 0
    result: dict[str, Any] = json.loads(output)
    return result


def address(server: FaultServer) -> str:
    return f"('127.0.0.1', {server.url.rpartition(':')[2]})"


REPLIES: dict[str, tuple[Handler | None, str]] = {
    "an answer": (None, "A good answer."),
    "a refusal": (says(b"{}", status=400), "RequestRefusedError"),
    "an outage": (says(b"{}", status=500), "UnavailableError"),
    "a redirect to another host": (
        says(b"", status=307, headers={"Location": "http://127.0.0.2:9/"}),
        "RedirectedError",
    ),
    "a redirect to a name": (says(b"", status=301, headers={"Location": "http://elsewhere.test/"}), "RedirectedError"),
    "a refresh": (says(b"{}", headers={"Refresh": "0; http://127.0.0.2:9/"}), ""),
    "another service": (says(b"{}", status=500, headers={"Alt-Svc": 'h3="127.0.0.2:9"'}), "UnavailableError"),
}


@pytest.mark.parametrize(("handler", "outcome"), REPLIES.values(), ids=list(REPLIES))
async def test_only_the_configured_address_is_contacted(handler: Handler | None, outcome: str) -> None:
    async with FaultServer() as server:
        if handler:
            server.handler = handler
        result = await run({"kind": "openai", "base_url": server.url})

        assert result["contacted"] == [f"socket.connect {address(server)}"]
        assert outcome in result["outcome"]


@pytest.mark.parametrize(("kind", "path"), [("anthropic", ""), ("router", "/router")])
async def test_every_protocol_contacts_the_configured_address_only(kind: str, path: str) -> None:
    async with FaultServer() as server:
        result = await run({"kind": kind, "base_url": server.url + path})

        assert result["contacted"] == [f"socket.connect {address(server)}"]
        assert result["outcome"] == "A good answer."


async def test_only_the_configured_name_is_looked_up() -> None:
    async with FaultServer() as server:
        port = server.url.rpartition(":")[2]
        result = await run({"kind": "openai", "base_url": f"http://localhost:{port}"})

        assert result["outcome"] == "A good answer."
        assert f"socket.getaddrinfo ('localhost', {port})" in result["contacted"]
        hosts = {"('127.0.0.1'", "('::1'", "('localhost'"}
        assert {each.partition(" ")[2].partition(",")[0] for each in result["contacted"]} <= hosts


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_with_a_proxy_only_the_proxy_is_contacted_and_it_looks_names_up(scheme: str) -> None:
    async with ProxyServer("refuses") as proxy:
        result = await run({"kind": "openai", "base_url": f"{scheme}://somewhere.test"}, ALL_PROXY=proxy.url)

        assert result["contacted"] == [f"socket.connect ('127.0.0.1', {proxy.port})"]


async def test_a_host_excluded_from_the_proxy_is_contacted_directly() -> None:
    async with FaultServer() as server:
        result = await run({"kind": "openai", "base_url": server.url}, **PROXIES, NO_PROXY="127.0.0.1")

        assert result["contacted"] == [f"socket.connect {address(server)}"]


async def test_a_login_that_was_never_configured_is_not_sent(tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password found-in-netrc\n")
    netrc.chmod(0o600)
    async with FaultServer() as server:
        await run({"kind": "openai", "base_url": server.url}, NETRC=str(netrc), HOME=str(tmp_path))

        assert "authorization" not in server.received[0].headers


@pytest.mark.parametrize(
    ("kind", "model"),
    [("mock", "default"), ("python", "contract_targets:answers"), ("command", """echo '{"text": "hi"}'""")],
)
async def test_a_provider_that_needs_no_network_contacts_nobody(kind: str, model: str) -> None:
    support = str(Path(watched_call.__file__).parent)
    result = await run({"kind": kind}, model, PYTHONPATH=support, **PROXIES)

    assert result["contacted"] == []
    assert result["outcome"]
    assert not result["outcome"].endswith("Error")
