"""The address of a service, split into its parts."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_PORTS = {"http": 80, "https": 443}
_IN_PATH = "/%:@!$&'()*+,;=~"
_IN_QUERY = f"{_IN_PATH}?"
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


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
    def tls(self) -> bool:
        return self.scheme == "https"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def values(self) -> list[tuple[str, str]]:
        """The query as pairs of names and values."""
        return parse_qsl(self.query, keep_blank_values=True)

    @property
    def login(self) -> str | None:
        """User and password, encoded for the `Authorization` header."""
        if not (self.user or self.password):
            return None
        return b64encode(f"{self.user}:{self.password}".encode()).decode()

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

    @property
    def authority(self) -> str:
        """Host and port for the `Host` header.

        Raises:
            ValueError: The host is not a valid name.
        """
        host = sent_host(self.host)
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def head(self, headers: Mapping[str, str], *, forwarded: bool = False) -> bytes:
        """Return the head of a POST request up to, but not including, the value of `Content-Length`.

        Args:
            headers: Added to those that follow from the address.
            forwarded: Whether the request goes to a proxy, which needs the full address.

        Raises:
            ValueError: The host or a header is not valid.
        """
        sent = {"Host": self.authority}
        if self.login is not None:
            if any(name.lower() == "authorization" for name in headers):
                raise ValueError("it has one login in its address and another in its headers")
            sent["Authorization"] = f"Basic {self.login}"
        target = f"{self.path or '/'}?{self.query}" if self.query else self.path or "/"
        if forwarded:
            target = f"{self.scheme}://{self.authority}{target}"
        merged = _merged(sent, headers)
        lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in merged.items())]
        if not all(map(_HEADER_NAME.fullmatch, merged)) or not all(map(str.isprintable, lines)):
            raise ValueError("a header has a line break or another character that a header cannot contain")
        return "\r\n".join((*lines, "Content-Length: ")).encode()


def sent_host(host: str) -> str:
    """Encode a host for a request: IDNA for non-ASCII names, brackets for IPv6 addresses."""
    return f"[{host}]" if ":" in host else host.encode("idna").decode()


def _merged(*parts: Mapping[str, str]) -> dict[str, str]:
    """Merge headers case-insensitively; later ones win. Headers about the body's length are dropped."""
    found = {name.lower(): (name, value) for part in parts for name, value in part.items()}
    return dict(pair for name, pair in found.items() if name not in ("content-length", "transfer-encoding"))
