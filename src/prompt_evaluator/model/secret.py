"""Secrets that cannot be printed by accident, and a redactor in case a server sends one back."""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import quote, quote_plus

_MASK = "[secret]"
_SECRET_NAME = re.compile(r"api[-_]?key|authorization|password|secret|(^|[-_])token$", re.IGNORECASE)
_SHORTEST = 6
"""Shorter values are not redacted: that would mask ordinary words and protect nothing."""


class Secret:
    """A value that never appears in a log line, a traceback, a struct's repr, JSON or a pickle."""

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value
        REDACTOR.add(value)

    def reveal(self) -> str:
        """Return the value. Call this only to send it to the service it belongs to."""
        return self.__value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __str__(self) -> str:
        return _MASK

    def __format__(self, _spec: str) -> str:
        return _MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be serialised")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a secret cannot be serialised")

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.__value == other.__value

    def __hash__(self) -> int:
        return hash(self.__value)


class Redactor:
    """Masks every known secret in anything about to be logged, stored or shown."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._bytes: list[bytes] = []
        self._spelling = re.compile("(?!)")
        """Matches escapes that can be part of a known secret, which excludes that of `ü` if all secrets are ASCII."""
        self._byte_spelling = re.compile(b"(?!)")

    def add(self, value: str) -> None:
        """Redact this value from now on, also as it appears in JSON, in a URL or in HTML."""
        if len(value) < _SHORTEST or value in self._texts:
            return
        # Longest first, because a secret may contain a shorter one.
        self._texts = sorted({*self._texts, *_forms(value)}, key=len, reverse=True)
        self._bytes = [text.encode(errors="surrogatepass") for text in self._texts]
        characters = {character for text in self._texts for character in text}
        escapes = [r"\\u00[2-7]" if all(map(str.isascii, characters)) else r"\\u"]
        escapes += [r"\\/"] if "/" in characters else []
        escapes += [r"\\\\"] if characters & {*"\"'\\"} else []
        self._spelling = re.compile("|".join(escapes))
        self._byte_spelling = re.compile("|".join(escapes).encode())

    def text(self, text: str) -> str:
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, _MASK)
        # One character is searched for many times as fast as two, and most texts have no backslash.
        return self._escaped(text) if "\\" in text and self._spelling.search(text) else text

    def bytes(self, data: bytes) -> bytes:
        for secret in self._bytes:
            if data.find(secret) >= 0:  # `in` raises and catches an exception first, which takes longer than the search
                data = data.replace(secret, _MASK.encode())
        if data.find(b"\\") < 0 or not self._byte_spelling.search(data):
            return data
        return self._escaped(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")

    def _escaped(self, text: str) -> str:
        plain = _unescaped(text)
        for secret in self._texts:
            if _unescaped(secret) in plain:
                text = re.sub("".join(map(_escapable, secret)), _MASK, text)
        return text


def _forms(value: str) -> set[str]:
    in_json = value.replace("\\", "\\\\").replace('"', '\\"')
    in_text = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    in_html = in_text.replace('"', "&quot;")
    urls = {encode(value, safe, errors="replace") for encode in (quote, quote_plus) for safe in ("", "/")}
    lower = {re.sub("%..", lambda code: code[0].lower(), url) for url in urls}
    return {value, in_json, in_text, in_html, in_html.replace("'", "&#x27;"), *urls, *lower}


def _unescaped(text: str) -> str:
    """Decode escapes and drop all backslashes: good enough to tell whether JSON may contain a secret.

    Encoders differ: .NET writes `+` as an escape, PHP puts a backslash before `/`, and JSON inside JSON, such as the
    arguments of tool calls, has even more backslashes.
    """
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text).replace("\\", "")


def _escapable(character: str) -> str:
    """Return a pattern for the character in all these spellings."""
    code = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(character):04x}")
    slashes = r"\\{0,4}" if character in "/\"\\'" else ""
    return rf"(?:{slashes}{re.escape(character)}|\\{{1,4}}u{code})"


REDACTOR = Redactor()
"""Knows every secret this process has resolved."""


def is_secret_name(name: str) -> bool:
    """Whether a parameter with this name looks like a secret."""
    return _SECRET_NAME.search(name) is not None


def message_of(error: BaseException) -> str:
    """Return the message of a third-party exception, without secrets."""
    try:
        return REDACTOR.text(str(error).encode("utf-8", "replace").decode())  # lone surrogates cannot be stored
    except Exception:  # noqa: BLE001 - the exception's own `__str__` may have a bug
        return "its message cannot be read"
