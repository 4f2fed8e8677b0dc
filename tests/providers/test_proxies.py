"""Which proxy calls go through, what it gets to see, and what becomes of a call when it fails."""

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
    AuthenticationError,
    ConfigurationError,
    ConnectionFailedError,
    HopelessError,
    ProviderError,
    RedirectedError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import REDACTOR, ProviderSettings
from prompt_evaluator.providers.calls.shared import SharedCalls
from prompt_evaluator.providers.transport.address import Address
from prompt_evaluator.providers.transport.connections import Connections, Endpoint
from prompt_evaluator.providers.transport.proxy import Proxy, find_proxy
from prompt_evaluator.providers.transport.tls import TlsFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from proxy_server import Behaviour

NAMED = "http://somewhere.test:8123/v1"
"""Nobody can look this name up: only a proxy leads there."""
SECURE = "https://somewhere.test/v1"


def found(address: str, configured: str | None = None) -> str | None:
    """The proxy on the way to an address, without its login."""
    proxy = find_proxy("svc", configured, Address.parse(address))
    return None if proxy is None else str(proxy)


# Who names it.


ENVIRONMENTS: dict[str, tuple[dict[str, str], str, str | None]] = {
    "nothing": ({}, SECURE, None),
    "https": ({"HTTPS_PROXY": "http://p:1"}, SECURE, "http://p:1"),
    "https in lower case": ({"https_proxy": "http://p:1"}, SECURE, "http://p:1"),
    "lower case goes before upper case": (
        {"https_proxy": "http://low:1", "HTTPS_PROXY": "http://up:1"},
        SECURE,
        "http://low:1",
    ),
    "empty in lower case is none": ({"https_proxy": "", "HTTPS_PROXY": "http://up:1"}, SECURE, None),
    "http is not for https": ({"HTTP_PROXY": "http://p:1"}, SECURE, None),
    "https is not for http": ({"HTTPS_PROXY": "http://p:1"}, NAMED, None),
    "http": ({"HTTP_PROXY": "http://p:1"}, NAMED, "http://p:1"),
    "all for https": ({"ALL_PROXY": "http://p:1"}, SECURE, "http://p:1"),
    "all for http": ({"all_proxy": "http://p:1"}, NAMED, "http://p:1"),
    "one of its own goes before all": (
        {"ALL_PROXY": "http://all:1", "HTTPS_PROXY": "http://own:1"},
        SECURE,
        "http://own:1",
    ),
    "a request that a web server answers may have set HTTP_PROXY": (
        {"HTTP_PROXY": "http://evil:1", "REQUEST_METHOD": "GET"},
        NAMED,
        None,
    ),
    "and not http_proxy": ({"http_proxy": "http://p:1", "REQUEST_METHOD": "GET"}, NAMED, "http://p:1"),
    "an exception by name": ({"ALL_PROXY": "http://p:1", "NO_PROXY": "other,somewhere.test"}, SECURE, None),
    "an exception by domain": ({"ALL_PROXY": "http://p:1", "NO_PROXY": ".test"}, SECURE, None),
    "an exception by name and port": ({"ALL_PROXY": "http://p:1", "no_proxy": "somewhere.test:8123"}, NAMED, None),
    "an exception by the usual port": ({"ALL_PROXY": "http://p:1", "no_proxy": "somewhere.test:443"}, SECURE, None),
    "an exception by another port": (
        {"ALL_PROXY": "http://p:1", "no_proxy": "somewhere.test:1"},
        NAMED,
        "http://p:1",
    ),
    "an exception of all": ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, SECURE, None),
    "an exception for the end of a name only": (
        {"ALL_PROXY": "http://p:1", "NO_PROXY": "where.test"},
        SECURE,
        "http://p:1",
    ),
    "an exception of an IPv6 address": ({"ALL_PROXY": "http://p:1", "NO_PROXY": "::1"}, "http://[::1]:80", None),
    "localhost is not an exception by itself": ({"ALL_PROXY": "http://p:1"}, "http://localhost", "http://p:1"),
    "blanks are none": ({"HTTPS_PROXY": "  "}, SECURE, None),
    "only an exception": ({"NO_PROXY": "*"}, SECURE, None),
}


@pytest.mark.parametrize(("variables", "address", "expected"), ENVIRONMENTS.values(), ids=list(ENVIRONMENTS))
def test_the_environment_names_a_proxy_by_the_rules_of_the_standard_library(
    variables: dict[str, str], address: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert found(address) == expected


def test_what_the_entry_says_goes_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://environment:1")
    monkeypatch.setenv("NO_PROXY", "*")

    assert found(SECURE, "http://entry:1") == "http://entry:1"
    assert found(SECURE, "none") is None
    assert found(SECURE, " None ") is None


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("http://proxy:3128", "proxy", 3128),
        ("http://proxy", "proxy", 80),
        ("proxy:3128", "proxy", 3128),
        ("user:secret-word@proxy:3128", "proxy", 3128),
        (" http://PROXY:3128/ ", "proxy", 3128),
        ("HTTP://proxy", "proxy", 80),
        ("http://[::1]:3128", "::1", 3128),
        (r"http://COMPANY\user:secret-word@proxy:1", "proxy", 1),
    ],
)
def test_a_proxy_is_an_address_with_or_without_its_parts(text: str, host: str, port: int) -> None:
    proxy = Proxy.parse(text, "TEST")

    assert (proxy.host, proxy.port) == (host, port)


@pytest.mark.parametrize(
    ("login", "sent"),
    [
        ("user:secret-word", "user:secret-word"),
        ("user", "user:"),
        (":secret-word", ":secret-word"),
        ("us%40er:p%40ss%3Aw%2Ford%25", "us@er:p@ss:w/ord%"),
        ("user:p@ss-word", "user:p@ss-word"),
        ("us+er:a+b-word", "us+er:a+b-word"),
        ("us%C3%A9r:pä%C3%A4-word", "usér:pää-word"),
        (r"COMPANY\user:secret-word", r"COMPANY\user:secret-word"),
    ],
)
def test_a_login_is_decoded_and_sent_to_the_proxy(login: str, sent: str) -> None:
    proxy = Proxy.parse(f"http://{login}@proxy:1", "TEST")

    assert proxy.headers == {"Proxy-Authorization": f"Basic {b64encode(sent.encode()).decode()}"}
    assert str(proxy) == "http://proxy:1"
    assert repr(proxy) == "Proxy(http://proxy:1)"


UNUSABLE = {
    "socks5://user:HIDDEN@proxy:1080": "SOCKS",
    "socks5h://proxy:1080": "SOCKS",
    "socks4://proxy": "SOCKS",
    "https://user:HIDDEN@proxy:443": "TLS",
    "ftp://proxy": "kind 'ftp'",
    "http://": "not an address",
    "http://user:HIDDEN@": "not an address",
    "http://proxy:port": "not an address",
    "http://proxy:99999": "not an address",
    "http://user:1/HIDDEN@proxy:1": "%2F",
    "http://user:#HIDDEN@proxy:1": "%23",
    "http://user:HIDDEN#@proxy:1": "%23",
    "http://user:HIDDEN/@proxy:1": "%2F",
    "http://user:?HIDDEN@proxy:1": "%3F",
    "http://pro xy:1": "not an address",
    "http://user:HIDDEN@pro\nxy:1": "line break",
    "   ": "Write `none` for no proxy",
    "": "Write `none` for no proxy",
    "no": "Write `none` for no proxy",
    "OFF": "Write `none` for no proxy",
}


@pytest.mark.parametrize(("text", "what"), UNUSABLE.items(), ids=[text.strip() or "blank" for text in UNUSABLE])
def test_a_proxy_that_cannot_be_used_is_refused_before_any_call_and_without_its_login(text: str, what: str) -> None:
    settings = ProviderSettings(kind="openai", base_url=SECURE, proxy=text.replace("HIDDEN", "never-seen-4711"))

    with pytest.raises(ConfigurationError, match=re.escape(what)) as caught:
        Calls().open(settings)

    assert str(caught.value).startswith("svc: ")
    assert "`proxy` of the provider 'svc'" in str(caught.value)
    assert "never-seen" not in "".join(traceback.format_exception(caught.value))


def test_a_variable_with_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9050")

    with pytest.raises(ConfigurationError, match=r"svc: the proxy 'socks5://127.0.0.1:9050' in all_proxy is a SOCKS"):
        Calls().open(ProviderSettings(kind="openai", base_url=SECURE))


def test_a_proxy_that_no_call_goes_through_need_not_be_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9050")
    monkeypatch.setenv("NO_PROXY", "somewhere.test")

    assert found(SECURE) is None
    assert found("https://elsewhere.test", "none") is None


@pytest.mark.parametrize("kind", ["mock", "python", "command", "litellm"])
@pytest.mark.parametrize("field", ["proxy", "ca_file", "cert_file", "key_file"])
def test_a_proxy_or_a_certificate_that_nobody_would_use_is_refused(kind: str, field: str) -> None:
    settings = msgspec.convert({"kind": kind, field: "none"}, ProviderSettings)

    with pytest.raises(ConfigurationError, match=f"svc: a provider of the kind '{kind}' has no {field}"):
        SharedCalls().provider("svc", settings)


# What goes through it.


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certificates")


async def test_a_forwarding_proxy_is_told_the_whole_address_and_the_service_the_path() -> None:
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


async def test_behind_a_tunnel_the_service_still_has_to_be_who_it_says(authority: Authority) -> None:
    tls = authority.server("elsewhere.test")
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        with pytest.raises(HopelessError, match=r"no secure connection through the proxy .* not valid for 'somewhere"):
            await ask(SECURE, proxy.url, ca_file=str(authority.file))

        assert server.received == []


async def test_a_proxy_that_signs_for_the_service_is_refused_with_advice(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    tls = other.server("somewhere.test")
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        with pytest.raises(HopelessError, match="name its authority in ca_file"):
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
    ("login", "what"), [("", "wants a login"), ("user:wrong-word@", "does not accept the login")], ids=["none", "wrong"]
)
async def test_a_login_that_the_proxy_wants_is_asked_for_once(base_url: str, login: str, what: str) -> None:
    async with ProxyServer(login="user:secret-word") as proxy:
        error = await failure(base_url, proxy.url.replace("//", f"//{login}"))

        assert len(proxy.asked) == 1
    assert type(error) is AuthenticationError
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

    assert type(error) is AuthenticationError
    assert re.search("wants a login of the kind (Negotiate or )?NTLM, which is not supported", str(error))


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
            f"svc: the proxy {proxy.url} does not connect us to somewhere.test:443 ({status}). Check `proxy` of the "
            "provider 'svc', or write `none` there if no proxy is needed."
        )
        assert (error.tries, len(proxy.asked), error.status) == (tries, tries, int(status[:3]))


async def test_a_variable_that_names_the_proxy_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ProxyServer("refuses") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(HopelessError, match=r"Check HTTPS_PROXY, or name somewhere\.test in NO_PROXY if"):
            await ask(SECURE)


async def test_a_refusal_that_was_forwarded_says_that_the_proxy_may_have_written_it() -> None:
    async with ProxyServer("refuses") as proxy:
        error = await failure(NAMED, proxy.url)

        assert f"The reply came through the proxy {proxy.url}, which may have written it." in str(error)
        assert error.status == 403


FAILURES: dict[Behaviour, tuple[type[ProviderError], str, str]] = {
    "hangs": (ProviderError, "no connection through the proxy .* within 0.2 s", "no complete reply through the proxy"),
    "closes": (ConnectionFailedError, "closed the connection without an answer", "through the proxy .* ended"),
    "resets": (ConnectionFailedError, "the connection", "through the proxy"),
    "garbage": (ProviderError, "does not speak HTTP; its answer starts 'SSH-2.0", "through the proxy .* is not HTTP"),
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
        with pytest.raises(ConnectionFailedError, match="sent something before the service could have been asked"):
            await ask(SECURE, proxy.url, ca_file=str(authority.file))

        assert server.received == []


@WAYS
async def test_a_proxy_that_cannot_be_reached_is_named_and_tried_again(base_url: str, nobody: int) -> None:
    error = await failure(base_url, f"http://user:secret-word@127.0.0.1:{nobody}")

    assert type(error) is ConnectionFailedError
    assert f"the proxy http://127.0.0.1:{nobody} cannot be reached: " in str(error)
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
        with pytest.raises(AuthenticationError, match=r"a proxy on the way wants a login \(407\)"):
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
async def test_the_login_of_a_proxy_is_seen_by_nobody_else(
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


def test_a_password_that_is_written_in_unusual_codes_is_masked_as_written_and_as_meant() -> None:
    Proxy.parse("http://user:%63anary-%2d-4712@proxy:1", "TEST")

    assert REDACTOR.text("canary---4712 %63anary-%2d-4712") == "[secret] [secret]"
