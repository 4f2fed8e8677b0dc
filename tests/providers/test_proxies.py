"""Calls through a proxy: who names it, what it gets to see, and what becomes of them when it fails."""

from __future__ import annotations

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
from entries import each
from fault_server import FaultServer
from proxy_server import ProxyServer
from service import QUICK, a_request, refuses

from prompt_evaluator.errors import (
    BadReplyError,
    CircuitOpenError,
    ConfigurationError,
    ConnectionFailedError,
    HopelessError,
    ProviderError,
    ProxyLoginError,
    ProxyUnreachableError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import ProviderSettings
from prompt_evaluator.providers.address import Address, find_proxy
from prompt_evaluator.providers.opened import OpenProviders

if TYPE_CHECKING:
    from pathlib import Path

    from proxy_server import Behaviour

NAMED = "http://somewhere.test:8123/v1"
"""Nobody can look this name up: only a proxy leads there."""
SECURE = "https://somewhere.test/v1"
WAYS = [NAMED, SECURE]
"""Forwarded, and tunnelled."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def ask(base_url: str, proxy: str | None = None, count: int = 1, **settings: Any) -> str:
    calls = Calls()
    known = {"kind": "openai", "base_url": base_url, "proxy": proxy, "key_required": False, "limits": QUICK}
    provider = calls.open(ProviderSettings(**{**known, **settings}))
    try:
        return [(await provider.complete(a_request(sample=number))).text for number in range(count)][-1]
    finally:
        await calls.close()


async def failure(base_url: str, proxy: str, **settings: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(base_url, proxy, **settings)
    return caught.value


# Who names it.


P = "http://p:1"
ENVIRONMENTS: dict[str, tuple[dict[str, str], str, str | None]] = {
    "nothing": ({}, SECURE, None),
    "lower case goes before upper case": ({"https_proxy": P, "HTTPS_PROXY": "http://up:1"}, SECURE, P),
    "http is not for https": ({"HTTP_PROXY": P}, SECURE, None),
    "all": ({"ALL_PROXY": P}, NAMED, P),
    "one of its own goes before all": ({"ALL_PROXY": "http://all:1", "HTTPS_PROXY": P}, SECURE, P),
    "an exception by name": ({"ALL_PROXY": P, "NO_PROXY": "other,somewhere.test"}, SECURE, None),
    "an exception by another port": ({"ALL_PROXY": P, "no_proxy": "somewhere.test:1"}, NAMED, P),
    "an exception of an IPv6 address": ({"ALL_PROXY": P, "NO_PROXY": "::1"}, "http://[::1]:80", None),
    "a proxy that is not needed need not be usable": ({"ALL_PROXY": "socks5://p", "NO_PROXY": "*"}, SECURE, None),
}


@each(("variables", "address", "expected"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_the_environment_names_a_proxy_by_the_rules_of_the_standard_library(
    variables: dict[str, str], address: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as environment:
        for name, value in variables.items():
            environment.setenv(name, value)
        found = find_proxy("svc", None, Address.parse(address))

    assert (str(found) if found else None) == expected


@each(
    ("configured", "expected"),
    [
        (" None ", None),
        ("proxy:3128", "http://proxy:3128"),
        ("https://PROXY/", "https://proxy:443"),
        (r"COMPANY\user:p@ss-word@[::1]", "http://[::1]:80"),
    ],
)
def test_the_entry_overrides_the_environment(
    configured: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://environment:1")
    monkeypatch.setenv("NO_PROXY", "*")
    found = find_proxy("svc", configured, Address.parse(SECURE))

    assert (str(found) if found else None) == expected


UNUSABLE = {
    "socks5://user:HIDDEN@proxy:1080": "SOCKS",
    "http://proxy:65536": "with a port from 1 to 65,535",
    "http://user:1/HIDDEN@proxy:1": "%2F",
    "http://user:HIDDEN#@proxy:1": "%23",
    "http://user:HIDDEN@pro\nxy:1": "not an address",
    "OFF": "Write `none` for no proxy",
}


@each(("text", "what"), UNUSABLE.items())
def test_a_proxy_that_cannot_be_used_is_refused_before_any_call_and_without_its_login(text: str, what: str) -> None:
    settings = ProviderSettings(kind="openai", base_url=SECURE, proxy=text.replace("HIDDEN", "never-seen-4711"))

    with pytest.raises(ConfigurationError, match=rf"^svc: .*`proxy` of provider 'svc'.*{what}") as caught:
        Calls().open(settings)

    assert "never-seen" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", ["mock", "python", "command"])
@each("field", ["proxy", "ca_file", "cert_file", "key_file"])
def test_a_proxy_or_certificate_that_would_not_be_used_is_refused(kind: str, field: str) -> None:
    settings = msgspec.convert({"kind": kind, field: "none"}, ProviderSettings)

    with pytest.raises(ConfigurationError, match=f"svc: providers of kind '{kind}' do not support {field}"):
        OpenProviders().get("svc", settings)


# What goes through it.


async def test_a_forwarding_proxy_gets_the_full_address_and_the_service_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with FaultServer() as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        await ask(NAMED + "?a=b", count=2)

        assert [asked.target for asked in proxy.asked] == ["http://somewhere.test:8123/v1/chat/completions?a=b"] * 2
        assert [request.path for request in server.received] == ["/v1/chat/completions?a=b"] * 2
        assert server.received[0].headers["host"] == "somewhere.test:8123"


@pytest.mark.parametrize("secure", [False, True], ids=["an http:// proxy", "an https:// proxy"])
async def test_a_tunnel_is_kept_and_its_proxy_sees_nothing_but_the_name(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, *, secure: bool
) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-not-for-proxies")
    own = authority.server("127.0.0.1") if secure else None
    async with (
        FaultServer(authority.server("somewhere.test")) as server,
        ProxyServer(login="user:pass word", leads_to=("127.0.0.1", server.port), tls=own) as proxy,
    ):
        url = proxy.url_with("user:pass%20word")
        answer = await ask(SECURE, url, 3, ca_file=str(authority.file), api_key_env="TEST_KEY")

        assert answer == server.answer
        assert [(asked.method, asked.target) for asked in proxy.asked] == [("CONNECT", "somewhere.test:443")]
        assert "sk-not-for-proxies" not in str(proxy.asked)
        assert [request.headers["authorization"] for request in server.received] == ["Bearer sk-not-for-proxies"] * 3


async def test_behind_a_tunnel_the_certificate_is_still_verified(authority: Authority) -> None:
    tls = authority.server("elsewhere.test")
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        error = await failure(SECURE, proxy.url, ca_file=str(authority.file))

        assert type(error) is HopelessError
        assert re.search("no secure connection through the proxy .* not valid for 'somewhere", str(error))
        assert server.received == []


async def test_an_international_name_and_an_ipv6_address_are_sent_as_proxies_expect_them() -> None:
    async with ProxyServer("refuses") as proxy:
        for address in ("https://MÜNCHEN.example", "https://[::1]:8443"):
            await failure(address, proxy.url)

        assert [asked.target for asked in proxy.asked] == ["xn--mnchen-3ya.example:443", "[::1]:8443"]


# What goes wrong.


LOGINS = {"": "requires a login", "user:wrong-word@": "does not accept the login"}


@each(("base_url", "login", "what"), [(way, *login) for way in WAYS for login in LOGINS.items()])
async def test_a_login_that_the_proxy_wants_is_asked_for_once(base_url: str, login: str, what: str) -> None:
    async with ProxyServer(login="user:secret-word") as proxy:
        error = await failure(base_url, proxy.url.replace("//", f"//{login}"))

        assert len(proxy.asked) == 1
        assert f"the proxy {proxy.url} {what} (407" in str(error)
    assert (type(error), error.status) == (ProxyLoginError, 407)
    assert "as http://USER:PASSWORD@HOST:PORT" in str(error)
    assert "wrong-word" not in str(error)


@each(("status", "kind", "tries"), [("403 Forbidden", HopelessError, 1), ("502 Bad Gateway", UnavailableError, 2)])
async def test_a_refused_tunnel_says_who_refused_what_and_what_to_do(
    status: str, kind: type[ProviderError], tries: int
) -> None:
    async with ProxyServer("refuses", status=status) as proxy:
        error = await failure(SECURE, proxy.url)

        assert type(error) is kind
        assert str(error).startswith(
            f"svc: the proxy {proxy.url} did not connect to somewhere.test:443 ({status}). Check `proxy` of provider "
            "'svc', or set it to `none` if no proxy is needed."
        )
        assert (error.tries, len(proxy.asked), error.status) == (tries, tries, int(status[:3]))


async def test_a_refusal_names_the_variable_that_names_the_proxy_or_the_proxy_that_may_have_written_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ProxyServer("refuses") as proxy:
        forwarded = await failure(NAMED, proxy.url)
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(HopelessError, match=r"Check HTTPS_PROXY, or add somewhere\.test to NO_PROXY if"):
            await ask(SECURE)

        assert f"The reply came through the proxy {proxy.url}, which may have written it." in str(forwarded)


NOT_REACHED, THROUGH = ProxyUnreachableError, "through the proxy PROXY"
FAILURES: dict[tuple[Behaviour, str], tuple[type[ProviderError], str]] = {
    ("hangs", SECURE): (
        NOT_REACHED,
        r"the proxy PROXY gave no connection to somewhere.test:443 within 0\.18 s\. Check",
    ),
    ("closes", SECURE): (NOT_REACHED, "the proxy PROXY ended the connection without a reply: it was closed. Check"),
    ("garbage", SECURE): (NOT_REACHED, "the proxy PROXY does not speak HTTP: .*SSH-2.0.* Check `proxy`"),
    ("hangs", NAMED): (TimedOutError, f"no complete reply {THROUGH} within"),
    ("closes", NAMED): (ConnectionFailedError, f"the connection {THROUGH} ended without a reply: it was closed"),
    ("garbage", NAMED): (BadReplyError, f"the reply {THROUGH} is not HTTP: .*SSH-2.0"),
}


@each(("behaviour", "base_url"), FAILURES)
async def test_a_proxy_that_misbehaves_is_named_and_asked_again(behaviour: Behaviour, base_url: str) -> None:
    kind, what = FAILURES[behaviour, base_url]
    limits = msgspec.structs.replace(QUICK, try_timeout=0.2 if behaviour == "hangs" else 30)
    async with ProxyServer(behaviour) as proxy:
        error = await failure(base_url, proxy.url, limits=limits)

        assert (type(error), error.tries) == (kind, 2)
        assert re.search(what.replace("PROXY", proxy.url), str(error))


@each("base_url", WAYS)
async def test_a_proxy_that_cannot_be_reached_is_named_and_tried_again(base_url: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{nobody.getsockname()[1]}"
        error = await failure(base_url, f"http://user:secret-word@{url}")

    assert (type(error), error.tries) == (ProxyUnreachableError, 2)
    assert f"the proxy http://{url} cannot be reached: Connection refused. Check `proxy`" in str(error)


async def test_a_run_that_a_proxy_keeps_from_its_service_is_told_to_check_the_proxy_and_nothing_else() -> None:
    calls = Calls()
    async with ProxyServer("closes") as proxy:
        limits = msgspec.structs.replace(QUICK, max_tries=1)
        entry = ProviderSettings(kind="openai", base_url=SECURE, proxy=proxy.url, key_required=False, limits=limits)
        provider = calls.open(entry)
        with pytest.raises(ProxyUnreachableError):
            await provider.complete(a_request())
        with pytest.raises(CircuitOpenError) as caught:
            await provider.complete(a_request())
        await calls.close()

        message = str(caught.value)
        assert f"m at https://somewhere.test:443 could not be reached: the proxy {proxy.url} " in message
        assert message.endswith(". Check `proxy` of provider 'svc', or set it to `none` if no proxy is needed.")
        assert message.count("Check ") == 1


async def test_a_service_that_has_answered_through_a_tunnel_and_hangs_up_is_not_taken_for_the_proxy(
    authority: Authority,
) -> None:
    tls = authority.server("somewhere.test")
    async with FaultServer(tls) as server, ProxyServer(leads_to=("127.0.0.1", server.port)) as proxy:
        server.script = ["another model answers", *["reset before the reply"] * 2]
        with pytest.raises(
            ConnectionFailedError, match=f"the connection through the proxy {proxy.url} ended"
        ) as caught:
            await ask(SECURE, proxy.url, 2, ca_file=str(authority.file))

    assert type(caught.value) is ConnectionFailedError


@each(("base_url", "behaviour"), [(way, does) for way in WAYS for does in ("works", "refuses", "garbage")])
async def test_the_login_of_a_proxy_is_shown_to_nobody(
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
        server.handler = refuses(said)
        error = await failure(base_url, proxy.url_with(f"user:{password.replace('/', '%2F')}"))

        assert any(asked.headers.get("proxy-authorization") == f"Basic {encoded}" for asked in proxy.asked)
        assert not any("proxy-authorization" in request.headers for request in server.received)
    seen = "\n".join((*traceback.format_exception(error), str(vars(error)), caplog.text))
    assert password not in seen
    assert encoded not in seen
