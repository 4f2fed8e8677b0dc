"""The address of a service, and the proxy on the way to it. Both may contain secrets, which are never shown."""

from __future__ import annotations

import os
import re
import sys
from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urlencode, urlsplit

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import REDACTOR

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_PROXY = "none"
"""Value of `proxy:` for a direct connection, overriding the environment."""

_PORTS = {"http": 80, "https": 443}
_IN_PATH = "/%:@!$&'()*+,;=~"
_IN_QUERY = f"{_IN_PATH}?"
_MEANT_NO_PROXY = ("", "no", "off", "false", "direct")
_AFTER_HOST = re.compile(r"://[^@]*[/?#].*@")
"""A login with a character that ends the host's part of an address."""
_SYSTEM_HAS_PROXIES = sys.platform in ("darwin", "win32")


class Address(NamedTuple):
    """Where requests are sent. May contain secrets: a login or query values."""

    scheme: str
    host: str
    """As written, but in lower case and without the brackets of an IPv6 address."""
    port: int
    path: str
    query: str
    user: str = ""
    password: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse an http or https URL. Raises `ValueError` for anything else."""
        text = text.strip()
        parts = urlsplit(text)
        if parts.scheme not in _PORTS or not parts.hostname or " " in parts.hostname:
            raise ValueError("not an http or https address with a host")
        if parts.port == 0:
            raise ValueError("no service has the port 0")
        if not text.isprintable():  # `urlsplit` drops line breaks, which would change the address
            raise ValueError("it has a line break or another character that an address cannot contain")
        return cls(
            parts.scheme,
            parts.hostname,
            _PORTS[parts.scheme] if parts.port is None else parts.port,
            quote(parts.path, safe=_IN_PATH),
            quote(parts.query, safe=_IN_QUERY),
            unquote(parts.username or ""),
            unquote(parts.password or ""),
        )

    def __repr__(self) -> str:
        return f"Address({self.origin})"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address as it is sent, without the login.

        Raises:
            ValueError: The host is not a valid name.
        """
        host = f"[{self.host}]" if ":" in self.host else self.host.encode("idna").decode()
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{host}{port}{self.path or '/'}{query}"

    @property
    def login(self) -> str | None:
        """User and password, encoded for a header."""
        if not (self.user or self.password):
            return None
        return b64encode(f"{self.user}:{self.password}".encode()).decode()

    @property
    def values(self) -> list[tuple[str, str]]:
        """The query as pairs of names and values."""
        return parse_qsl(self.query, keep_blank_values=True)

    def with_query(self, more: Mapping[str, str]) -> Self:
        """Return a copy with these query values, replacing those of the same name."""
        if not more:
            return self
        parts = (part for part in self.query.split("&") if part)
        kept = [part for part in parts if unquote_plus(part.partition("=")[0]) not in more]  # encoding kept
        return self._replace(query="&".join((*kept, urlencode(more))))

    def below(self, path: str) -> Self:
        """Return a copy with `path` appended to the path."""
        return self._replace(path=self.path.rstrip("/") + path)

    def hide_login(self) -> None:
        """Register the login with the redactor."""
        REDACTOR.add(self.password or self.user)
        REDACTOR.add(self.login or "")


class Proxy(NamedTuple):
    """A proxy, and where it is set, for messages: a variable or a provider's setting."""

    address: Address
    source: str

    def __str__(self) -> str:
        """The address without the login."""
        return self.address.origin

    @property
    def headers(self) -> dict[str, str]:
        """Headers for the proxy only."""
        return {"Proxy-Authorization": f"Basic {self.address.login}"} if self.address.login else {}


def find_proxy(provider: str, configured: str | None, address: Address) -> Proxy | None:
    """Return the proxy for an address, or None. Its login is registered with the redactor.

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
        found = _parsed_proxy(text.strip())
    except ValueError as error:
        raise ConfigurationError(f"{provider}: the proxy {_without_login(text)!r} in {source} {error}.") from None
    found.hide_login()
    return Proxy(found, source)


def _parsed_proxy(text: str) -> Address:
    if "://" not in text:
        text = f"http://{text}"
    scheme = text.partition("://")[0].lower()
    if scheme not in _PORTS:
        what = "is a SOCKS proxy" if scheme.startswith("socks") else f"has the scheme {scheme[:20]!r}"
        raise ValueError(f"{what}, which is not supported. Use an HTTP proxy: http://HOST:PORT")
    try:
        if not _AFTER_HOST.search(text):
            return Address.parse(text)
    except ValueError:
        pass
    raise ValueError(
        "is not an address. Write http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with a port from 1 to 65,535, "
        "and encode characters such as / # ? @ in the login as %2F %23 %3F %40"
    )


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


def _without_login(text: str) -> str:
    """Return the text without anything that may be a login."""
    scheme, mark, rest = REDACTOR.text(text.strip()).rpartition("://")
    before, at, after = rest.rpartition("@")
    return scheme + mark + (f"…@{after}" if at else before + after)
