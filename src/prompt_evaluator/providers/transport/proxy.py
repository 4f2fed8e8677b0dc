"""The proxy that requests go through, and where it is set."""

from __future__ import annotations

import os
import sys
from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import REDACTOR, Secret

if TYPE_CHECKING:
    from prompt_evaluator.providers.transport.address import Address

NO_PROXY = "none"
"""Value of `proxy:` for a direct connection, overriding the environment."""
_MEANT_NO_PROXY = ("", "no", "off", "false", "direct")
_DEFAULT_PORT = 80
_SYSTEM_HAS_PROXIES = sys.platform in ("darwin", "win32")


class Proxy(NamedTuple):
    """A proxy reached over plain HTTP. Its login is a secret."""

    host: str
    port: int
    login: Secret | None
    """User and password, encoded for the `Proxy-Authorization` header."""
    source: str
    """Where it is set, for messages: a variable or a provider's setting."""

    @classmethod
    def parse(cls, text: str, source: str) -> Self:
        """Parse `http://USER:PASSWORD@HOST:PORT`; only the host is required. Registers the login with the redactor.

        Raises:
            ValueError: Says what is wrong, without quoting `text`.
        """
        text = text.strip()
        if not text.isprintable():
            raise ValueError("has a line break or another character that an address cannot contain")
        if "://" not in text:
            text = f"http://{text}"
        scheme = text.partition("://")[0].lower()
        if scheme != "http":
            raise ValueError(_unsupported(scheme))
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or " " in host or port == 0 or "@" in parts.path + parts.query + parts.fragment:
            raise ValueError(
                "is not an address. Write http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with a port from 1 to "
                "65,535, and encode characters such as / # ? @ in the login as %2F %23 %3F %40"
            )
        return cls(host, _DEFAULT_PORT if port is None else port, _login(parts.username, parts.password), source)

    def __str__(self) -> str:
        """The address without the login."""
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self})"

    @property
    def headers(self) -> dict[str, str]:
        """Headers for the proxy only."""
        return {"Proxy-Authorization": f"Basic {self.login.reveal()}"} if self.login else {}


def find_proxy(provider: str, configured: str | None, address: Address) -> Proxy | None:
    """Return the proxy for an address, or None.

    The provider's `proxy` setting overrides the environment, including `NO_PROXY`.

    Raises:
        ConfigurationError: The proxy cannot be used. Says why, without the login.
    """
    if configured is None:
        text, source = _from_environment(address)
    elif configured.strip().lower() == NO_PROXY:
        return None
    else:
        text, source = configured, f"`proxy` of provider {provider!r}"
        if text.strip().lower() in _MEANT_NO_PROXY:
            raise ConfigurationError(f"{provider}: {source} is not an address. Write `{NO_PROXY}` for no proxy.")
    if not text.strip():
        return None
    try:
        return Proxy.parse(text, source)
    except ValueError as error:
        raise ConfigurationError(f"{provider}: the proxy {_without_login(text)!r} in {source} {error}.") from None


def _from_environment(address: Address) -> tuple[str, str]:
    """Return the proxy that the standard library finds, and its source. Both are empty if none applies."""
    wanted = (f"{address.scheme}_proxy", "all_proxy")
    if not _SYSTEM_HAS_PROXIES and not any(name.lower() in wanted for name in os.environ):
        return "", ""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - takes 50 ms; most users have no proxy

    proxies = getproxies()
    scheme = address.scheme if proxies.get(address.scheme) else "all"
    host = f"[{address.host}]" if ":" in address.host else address.host
    if not proxies.get(scheme) or proxy_bypass(f"{host}:{address.port}") or proxy_bypass(address.host):
        return "", ""
    variable = f"{scheme}_proxy"
    named = [name for name in (variable, variable.upper()) if os.environ.get(name) == proxies[scheme]]
    return proxies[scheme], named[0] if named else "the system settings"


def _login(user: str | None, password: str | None) -> Secret | None:
    if not (user or password):
        return None
    plain = unquote(user or ""), unquote(password or "")
    REDACTOR.add(plain[1] or plain[0])
    REDACTOR.add(password or user or "")  # as written, in case its encoding is unusual
    return Secret(b64encode(":".join(plain).encode()).decode())


def _unsupported(scheme: str) -> str:
    if scheme == "https":
        return (
            "uses TLS, which is not supported. Most proxies accept http:// as well, and requests to https addresses "
            "stay encrypted end to end"
        )
    what = "is a SOCKS proxy" if scheme.startswith("socks") else f"has the scheme {scheme[:20]!r}"
    return f"{what}, which is not supported. Use an HTTP proxy: http://HOST:PORT"


def _without_login(text: str) -> str:
    """Return the text without anything that may be a login."""
    scheme, mark, rest = REDACTOR.text(text.strip()).rpartition("://")
    before, at, after = rest.rpartition("@")
    return scheme + mark + (f"…@{after}" if at else before + after)
