"""Which proxy is on the way to an address, who says so, and which are refused before any call."""

from __future__ import annotations

import re
import traceback
from base64 import b64encode

import msgspec
import pytest
from calling import Calls

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import REDACTOR, ProviderSettings
from prompt_evaluator.providers.opened import OpenProviders
from prompt_evaluator.providers.transport.address import Address
from prompt_evaluator.providers.transport.proxy import Proxy, find_proxy

NAMED = "http://somewhere.test:8123/v1"
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


def test_the_entry_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
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
    "ftp://proxy": "scheme 'ftp'",
    "http://": "not an address",
    "http://user:HIDDEN@": "not an address",
    "http://proxy:port": "not an address",
    "http://proxy:0": "with a port from 1 to 65,535",
    "http://proxy:65536": "with a port from 1 to 65,535",
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
    assert "`proxy` of provider 'svc'" in str(caught.value)
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


@pytest.mark.parametrize("kind", ["mock", "python", "command"])
@pytest.mark.parametrize("field", ["proxy", "ca_file", "cert_file", "key_file"])
def test_a_proxy_or_certificate_that_would_not_be_used_is_refused(kind: str, field: str) -> None:
    settings = msgspec.convert({"kind": kind, field: "none"}, ProviderSettings)

    with pytest.raises(ConfigurationError, match=f"svc: providers of kind '{kind}' do not support {field}"):
        OpenProviders().get("svc", settings)


def test_a_password_that_is_written_in_unusual_codes_is_masked_as_written_and_as_meant() -> None:
    Proxy.parse("http://user:%63anary-%2d-4712@proxy:1", "TEST")

    assert REDACTOR.text("canary---4712 %63anary-%2d-4712") == "[secret] [secret]"
