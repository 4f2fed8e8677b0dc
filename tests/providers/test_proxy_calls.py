"""Calls through a proxy: what it gets to see, and what becomes of them when it fails."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import traceback
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from calling import Calls
from certificates import Authority
from fault_server import FaultServer
from proxy_server import ProxyServer
from service import QUICK, a_request, says, service

from prompt_evaluator.errors import (
    CircuitOpenError,
    ConnectionFailedError,
    HopelessError,
    ProviderError,
    ProxyLoginError,
    ProxyUnreachableError,
    RedirectedError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import ProviderSettings
from prompt_evaluator.providers.transport.connections import Connections, Endpoint
from prompt_evaluator.providers.transport.proxy import Proxy
from prompt_evaluator.providers.transport.tls import TlsFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from proxy_server import Behaviour

NAMED = "http://somewhere.test:8123/v1"
"""Nobody can look this name up: only a proxy leads there."""
SECURE = "https://somewhere.test/v1"


# What goes through it.


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates")


async def test_a_forwarding_proxy_gets_the_full_address_and_the_service_the_path() -> None:
    async with FaultServer() as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        await ask(NAMED + "?a=b", proxy.url)
        await ask("http://somewhere.test", proxy.url)

        assert [asked.target for asked in proxy.asked] == [
            "http://somewhere.test:8123/v1/chat/completions?a=b",
            "http://somewhere.test/chat/completions",
        ]
        assert [request.path for request in server.received] == ["/v1/chat/completions?a=b", "/chat/completions"]
        assert [request.headers["host"] for request in server.received] == ["somewhere.test:8123", "somewhere.test"]


async def ask(base_url: str, proxy: str | None = None, count: int = 1, **settings: Any) -> str:
    calls = Calls()
    entry = ProviderSettings(
        **{"kind": "openai", "base_url": base_url, "proxy": proxy, "key_required": False, "limits": QUICK, **settings}
    )
    provider = calls.open(entry)
    try:
        return [(await provider.complete(a_request(sample=number))).text for number in range(count)][-1]
    finally:
        await calls.close()


async def test_a_tunnel_leads_to_the_service_and_the_proxy_sees_nothing_but_its_name(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-not-for-proxies")
    tls = authority.server("somewhere.test")
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        answer = await ask(SECURE, proxy.url, 3, ca_file=str(authority.file), api_key_env="TEST_KEY")

        assert answer == server.answer
        assert [(asked.method, asked.target) for asked in proxy.asked] == [("CONNECT", "somewhere.test:443")]
        assert proxy.asked[0].headers.keys() == {"host", "user-agent"}
        assert [request.headers["authorization"] for request in server.received] == ["Bearer sk-not-for-proxies"] * 3


async def test_behind_a_tunnel_the_certificate_is_still_verified(authority: Authority) -> None:
    tls = authority.server("elsewhere.test")
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        with pytest.raises(HopelessError, match=r"no secure connection through the proxy .* not valid for 'somewhere"):
            await ask(SECURE, proxy.url, ca_file=str(authority.file))

        assert server.received == []


async def test_a_proxy_that_signs_for_the_service_is_refused_with_advice(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    tls = other.server("somewhere.test")
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        with pytest.raises(HopelessError, match="set ca_file to its authority"):
            await ask(SECURE, proxy.url, ca_file=str(authority.file))


async def test_an_international_name_and_an_ipv6_address_are_sent_as_proxies_expect_them() -> None:
    async with ProxyServer("refuses") as proxy:
        for address in ("https://MÜNCHEN.example", "https://[::1]:8443"):
            with pytest.raises(HopelessError):
                await ask(address, proxy.url)

        assert [asked.target for asked in proxy.asked] == ["xn--mnchen-3ya.example:443", "[::1]:8443"]


async def test_the_environments_proxy_is_used_for_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FaultServer() as server, ProxyServer() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        await ask(server.url)
        assert len(proxy.asked) == 1

        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        await ask(server.url)
        assert len(proxy.asked) == 1


@pytest.mark.parametrize("base_url", [NAMED, SECURE], ids=["forwarded", "tunnelled"])
async def test_connections_through_a_proxy_are_kept(base_url: str, authority: Authority) -> None:
    tls = authority.server("somewhere.test") if base_url == SECURE else None
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        calls = Calls()
        entry = ProviderSettings(kind="openai", base_url=base_url, proxy=proxy.url, key_required=False)
        provider = calls.open(msgspec.structs.replace(entry, ca_file=str(authority.file)))
        for _ in range(3):
            await provider.complete(a_request())

            assert proxy.open_connections == 1
        await calls.close()


# What goes wrong.


WAYS = pytest.mark.parametrize("base_url", [NAMED, SECURE], ids=["forwarded", "tunnelled"])


@pytest.fixture
def nobody() -> Iterator[int]:
    """A port where nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


async def failure(base_url: str, proxy: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(base_url, proxy)
    return caught.value


@WAYS
@pytest.mark.parametrize(
    ("login", "what"),
    [("", "requires a login"), ("user:wrong-word@", "does not accept the login")],
    ids=["none", "wrong"],
)
async def test_a_login_that_the_proxy_wants_is_asked_for_once(base_url: str, login: str, what: str) -> None:
    async with ProxyServer(login="user:secret-word") as proxy:
        error = await failure(base_url, proxy.url.replace("//", f"//{login}"))

        assert len(proxy.asked) == 1
    assert type(error) is ProxyLoginError
    assert f"the proxy {proxy_name(error)} {what} (407" in str(error)
    assert "http://USER:PASSWORD@HOST:PORT" in str(error)
    assert "wrong-word" not in str(error)
    assert error.status == 407


def proxy_name(error: ProviderError) -> str:
    named = re.search(r"http://127\.0\.0\.1:\d+", str(error))
    return named[0] if named else "that is not named"


@WAYS
async def test_a_login_of_a_kind_that_is_not_supported_is_said(base_url: str) -> None:
    offers = "Proxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n"
    async with ProxyServer("refuses", status="407 Login", headers=offers) as proxy:
        error = await failure(base_url, proxy.url)

    assert type(error) is ProxyLoginError
    assert re.search("requires a login of type (Negotiate or )?NTLM, which is not supported", str(error))


REFUSALS: dict[str, tuple[type[ProviderError], int]] = {
    "400 Bad Request": (HopelessError, 1),
    "403 Forbidden": (HopelessError, 1),
    "404 Not Found": (HopelessError, 1),
    "405 Method Not Allowed": (HopelessError, 1),
    "302 Found": (HopelessError, 1),
    "429 Too Many Requests": (UnavailableError, 2),
    "500 Oops": (UnavailableError, 2),
    "502 Bad Gateway": (UnavailableError, 2),
    "503 Service Unavailable": (UnavailableError, 2),
    "504 Gateway Timeout": (UnavailableError, 2),
    "502": (UnavailableError, 2),
}


@pytest.mark.parametrize("status", REFUSALS)
async def test_a_refused_tunnel_says_who_refused_what_and_what_to_do(status: str) -> None:
    kind, tries = REFUSALS[status]
    async with ProxyServer("refuses", status=status) as proxy:
        error = await failure(SECURE, proxy.url)

        assert type(error) is kind
        assert str(error).startswith(
            f"svc: the proxy {proxy.url} did not connect to somewhere.test:443 ({status}). Check `proxy` of provider "
            "'svc', or set it to `none` if no proxy is needed."
        )
        assert (error.tries, len(proxy.asked), error.status) == (tries, tries, int(status[:3]))


async def test_a_variable_that_names_the_proxy_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ProxyServer("refuses") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(HopelessError, match=r"Check HTTPS_PROXY, or add somewhere\.test to NO_PROXY if"):
            await ask(SECURE)


async def test_a_refusal_that_was_forwarded_says_that_the_proxy_may_have_written_it() -> None:
    async with ProxyServer("refuses") as proxy:
        error = await failure(NAMED, proxy.url)

        assert f"The reply came through the proxy {proxy.url}, which may have written it." in str(error)
        assert error.status == 403


FAILURES: dict[Behaviour, tuple[type[ProviderError], str, str]] = {
    "hangs": (
        ProviderError,
        r"the proxy .* gave no connection to somewhere.test:443 within 0\.2 s\. Check `proxy`",
        "no complete reply through the proxy",
    ),
    "closes": (ConnectionFailedError, "closed the connection without answering", "through the proxy .* ended"),
    "resets": (ConnectionFailedError, "the connection", "through the proxy"),
    "garbage": (ProviderError, "not speak HTTP; its answer starts with 'SSH-2.0", "through the proxy .* is not HTTP"),
}


@WAYS
@pytest.mark.parametrize("behaviour", FAILURES)
async def test_a_proxy_that_misbehaves_is_named_and_asked_again(behaviour: Behaviour, base_url: str) -> None:
    kind, of_tunnel, of_forwarding = FAILURES[behaviour]
    async with ProxyServer(behaviour) as proxy:
        limits = msgspec.structs.replace(QUICK, try_timeout=0.2)
        with pytest.raises(kind, match=of_tunnel if base_url == SECURE else of_forwarding) as caught:
            await ask(base_url, proxy.url, limits=limits)

        assert proxy_name(caught.value) == proxy.url
        assert caught.value.tries == 2


async def test_a_proxy_that_speaks_before_it_is_spoken_to_is_not_trusted(authority: Authority) -> None:
    tls = authority.server("somewhere.test")
    async with FaultServer(tls) as server, ProxyServer("speaks first", leads_to=("127.0.0.1", server.port)) as proxy:
        with pytest.raises(ConnectionFailedError, match="sent data before the tunnel was used"):
            await ask(SECURE, proxy.url, ca_file=str(authority.file))

        assert server.received == []


@pytest.mark.parametrize("behaviour", ["closes", "resets", "hangs"])
async def test_a_run_that_a_proxy_keeps_from_its_service_is_told_to_check_the_proxy_and_nothing_else(
    behaviour: Behaviour,
) -> None:
    calls = Calls()
    async with ProxyServer(behaviour) as proxy:
        url = proxy.url
        limits = msgspec.structs.replace(QUICK, try_timeout=0.2, max_tries=1)
        entry = ProviderSettings(kind="openai", base_url=SECURE, proxy=url, key_required=False, limits=limits)
        provider = calls.open(entry)
        with pytest.raises(ProxyUnreachableError):
            await provider.complete(a_request())
        with pytest.raises(CircuitOpenError) as caught:
            await provider.complete(a_request())
        await calls.close()

    message = str(caught.value)
    assert f"m at https://somewhere.test:443 could not be reached: the proxy {url} " in message
    assert message.endswith(". Check `proxy` of provider 'svc', or set it to `none` if no proxy is needed.")
    assert "Errno" not in message
    assert message.count("Check ") == 1


@WAYS
async def test_a_proxy_that_cannot_be_reached_is_named_and_tried_again(base_url: str, nobody: int) -> None:
    error = await failure(base_url, f"http://user:secret-word@127.0.0.1:{nobody}")

    assert type(error) is ProxyUnreachableError
    assert f"the proxy http://127.0.0.1:{nobody} cannot be reached: Connection refused. Check `proxy`" in str(error)
    assert error.tries == 2


async def test_a_service_that_hangs_behind_a_proxy_runs_out_of_time() -> None:
    async with FaultServer() as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        server.script = ["a stall before the reply"] * 2
        limits = msgspec.structs.replace(QUICK, try_timeout=0.2)
        with pytest.raises(TimedOutError, match=f"no complete reply through the proxy {proxy.url} within 0.2 s"):
            await ask(NAMED, proxy.url, limits=limits)


async def test_a_login_page_that_a_proxy_leads_to_is_said_to_be_its_own() -> None:
    async with ProxyServer("refuses", status="302 Found", headers="Location: http://login.test/\r\n") as proxy:
        with pytest.raises(RedirectedError, match=r"redirects to http://login\.test/.* which may have written it"):
            await ask(NAMED, proxy.url)


async def test_407_from_a_service_without_a_proxy_is_not_a_wrong_key() -> None:
    async with service("openai", says(b"{}", status=407)) as svc:
        with pytest.raises(ProxyLoginError, match=r"a proxy requires a login \(407\)"):
            await svc.ask()


@pytest.mark.parametrize("base_url", [NAMED, SECURE], ids=["forwarded", "tunnelled"])
async def test_a_call_that_is_cancelled_at_any_moment_leaves_nothing_open(base_url: str, authority: Authority) -> None:
    tls = authority.server("somewhere.test") if base_url == SECURE else None
    files = TlsFiles(ca=str(authority.file))
    request = b"POST http://somewhere.test:8123/ HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        place = Endpoint("somewhere.test", 443, tls is not None, Proxy.parse(proxy.url, "TEST"), files)
        connections = Connections()
        for turns in range(500):
            call = asyncio.create_task(connections.send(place, request, most=9_999, seconds=30))
            for _ in range(turns):
                await asyncio.sleep(0)
            if call.done():
                break
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await connections.close()
            async with asyncio.timeout(10):
                while proxy.open_connections or server.open_connections:  # noqa: ASYNC110 - no event for a bound
                    await asyncio.sleep(0.001)

        assert call.result().status == 200
        assert turns > 3
        await connections.close()


# Its login is a secret.


@WAYS
@pytest.mark.parametrize("behaviour", ["works", "refuses", "garbage", "closes"])
async def test_the_login_of_a_proxy_is_sent_to_nobody_else(
    base_url: str, behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    password = f"canary-{behaviour}-{len(base_url)}/+9"
    encoded = b64encode(f"user:{password}".encode()).decode()
    said = f"{password} {encoded} user%3A{password}"
    async with (
        FaultServer() as server,
        ProxyServer(behaviour, status=f"403 {said}", leads_to=("127.0.0.1", server.port)) as proxy,
    ):
        server.handler = says({"error": {"message": said}}, status=400)
        error = await failure(base_url, proxy.url_with(f"user:{password.replace('/', '%2F')}"))

        assert any(asked.headers.get("proxy-authorization") == f"Basic {encoded}" for asked in proxy.asked)
    seen = "\n".join((*traceback.format_exception(error), str(vars(error)), caplog.text))
    assert password not in seen
    assert encoded not in seen
