"""The address of a service, taken apart."""

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
    """What requests are sent to. It may contain secrets: a login, or a part of the query."""

    scheme: str
    host: str
    """As it was written, in lower case; without the brackets of an IPv6 address."""
    port: int
    path: str
    query: str
    user: str = ""
    password: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raise `ValueError` for what is no address of a web service."""
        text = text.strip()
        parts = urlsplit(text)
        if parts.scheme not in _PORTS or not parts.hostname or " " in parts.hostname:
            raise ValueError("not an http or https address with a host")
        if not text.isprintable():  # `urlsplit` leaves line breaks out, and what it then reads is another address
            raise ValueError("it has a line break or another character that no address can have")
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
        """The part that decides who answers."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def values(self) -> list[tuple[str, str]]:
        """The query, as names and values."""
        return parse_qsl(self.query, keep_blank_values=True)

    @property
    def login(self) -> str | None:
        """User and password as the `Authorization` header carries them."""
        if not (self.user or self.password):
            return None
        return b64encode(f"{self.user}:{self.password}".encode()).decode()

    def with_query(self, more: Mapping[str, str]) -> Self:
        """With these values in the query, in place of those of the same name."""
        if not more:
            return self
        parts = (part for part in self.query.split("&") if part)
        kept = [part for part in parts if unquote_plus(part.partition("=")[0]) not in more]  # as it was written
        return self._replace(query="&".join((*kept, urlencode(more))))

    def below(self, path: str) -> Self:
        """The address of something further down, with the same query."""
        return self._replace(path=self.path.rstrip("/") + path)

    @property
    def authority(self) -> str:
        """Host and port as requests name them.

        Raises:
            ValueError: No name can be like this host.
        """
        host = sent_host(self.host)
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def head(self, headers: Mapping[str, str], *, forwarded: bool = False) -> bytes:
        """The start of a POST request, to be followed by the length of its body and an empty line.

        Args:
            headers: Sent beside those that follow from the address.
            forwarded: Whether it goes to a proxy, which has to be told the whole address.

        Raises:
            ValueError: No request can be made of these.
        """
        sent = {"Host": self.authority}
        if self.login is not None:
            if any(name.lower() == "authorization" for name in headers):
                raise ValueError("it has a login in its address and another one in its headers")
            sent["Authorization"] = f"Basic {self.login}"
        target = f"{self.path or '/'}?{self.query}" if self.query else self.path or "/"
        if forwarded:
            target = f"{self.scheme}://{self.authority}{target}"
        merged = _merged(sent, headers)
        lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in merged.items())]
        if not all(map(_HEADER_NAME.fullmatch, merged)) or not all(map(str.isprintable, lines)):
            raise ValueError("a header has a line break or another character that no header can have")
        return "\r\n".join((*lines, "Content-Length: ")).encode()


def sent_host(host: str) -> str:
    """A host as requests name it: letters beyond ASCII as IDNA has them, an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host.encode("idna").decode()


def _merged(*parts: Mapping[str, str]) -> dict[str, str]:
    """The last of those whose names differ in letter case at most. The length of the body is not for them to say."""
    found = {name.lower(): (name, value) for part in parts for name, value in part.items()}
    return dict(pair for name, pair in found.items() if name not in ("content-length", "transfer-encoding"))
