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
from fault_server import FAULTS, FaultServer, respond
from proxy_server import ProxyServer

if TYPE_CHECKING:
    from fault_server import Handler

PROXIES = {f"{scheme}_PROXY": "http://127.0.0.3:9" for scheme in ("HTTP", "HTTPS", "ALL")}
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


@pytest.mark.parametrize(
    ("handler", "outcome"),
    [(respond, "A good answer."), (FAULTS["redirect to another host"], "RedirectedError")],
    ids=["an answer", "a redirect"],
)
async def test_only_the_configured_address_is_contacted_and_gets_no_login_from_netrc(
    handler: Handler, outcome: str, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password found-in-netrc\n")
    async with FaultServer() as server:
        server.handler = handler
        here = {"NETRC": str(netrc), "HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"}
        result = await run({"kind": "openai", "base_url": server.url}, **PROXIES, **here)

        assert result == {"outcome": outcome, "contacted": [f"socket.connect ('127.0.0.1', {server.port})"]}
        assert "authorization" not in server.received[0].headers


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_with_a_proxy_only_the_proxy_is_contacted_and_it_looks_names_up(scheme: str) -> None:
    async with ProxyServer("refuses") as proxy:
        result = await run({"kind": "openai", "base_url": f"{scheme}://somewhere.test"}, ALL_PROXY=proxy.url)

        assert result["contacted"] == [f"socket.connect ('127.0.0.1', {proxy.port})"]


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
