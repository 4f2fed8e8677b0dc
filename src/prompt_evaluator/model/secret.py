"""Secrets that cannot be shown by accident, and the last line of defence when a server sends one back."""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import quote, quote_plus

_MASK = "[secret]"
_SHORTEST = 6
"""Values shorter than this are not looked for: they would mask ordinary words and protect nothing."""


class Secret:
    """A value that has no printable form: not in a log line, a traceback, a struct's repr, JSON or a pickle."""

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value
        REDACTOR.add(value)

    def reveal(self) -> str:
        """The value itself. Call this only where it leaves for the service it belongs to."""
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
    """Replaces every known secret in what is about to be logged, stored or shown."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._bytes: list[bytes] = []
        self._signs: list[str] = []
        """Of text in which a known secret may be spelled with escapes. Each is a look at the whole text."""
        self._byte_signs: list[bytes] = []
        self._spelling = re.compile("(?!)")
        """An escape that can be part of a known secret: the codes of `ü` are none where all of them are ASCII."""

    def add(self, value: str) -> None:
        """Know a value from now on, also as it looks inside JSON, an address or a web page."""
        if len(value) < _SHORTEST or value in self._texts:
            return
        # The longest first: a secret may contain a shorter one.
        self._texts = sorted({*self._texts, *_forms(value)}, key=len, reverse=True)
        self._bytes = [text.encode(errors="surrogatepass") for text in self._texts]
        characters = {character for text in self._texts for character in text}
        self._signs = ["\\u", *(["\\/"] if "/" in characters else ()), *(["\\\\"] if characters & {*"\"'\\"} else ())]
        self._byte_signs = [sign.encode() for sign in self._signs]
        codes = r"\\u00[2-7]" if all(map(str.isascii, characters)) else r"\\u"
        self._spelling = re.compile("|".join((codes, *map(re.escape, self._signs[1:]))))

    def text(self, text: str) -> str:
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, _MASK)
        for sign in self._signs:
            if sign in text:
                return self._escaped(text)
        return text

    def bytes(self, data: bytes) -> bytes:
        for secret in self._bytes:
            if secret in data:
                data = data.replace(secret, _MASK.encode())
        for sign in self._byte_signs:
            if sign in data:
                return self._escaped(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        return data

    def _escaped(self, text: str) -> str:
        if not self._spelling.search(text):
            return text
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
    """Without any backslashes, which is exact enough to see whether there may be a secret in JSON.

    Encoders differ: .NET writes `+` as a code, PHP puts a backslash before `/`, and there are more backslashes in JSON
    inside JSON, such as the arguments of tool calls.
    """
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text).replace("\\", "")


def _escapable(character: str) -> str:
    """A pattern for the character in all these spellings."""
    code = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(character):04x}")
    slashes = r"\\{0,4}" if character in "/\"\\'" else ""
    return rf"(?:{slashes}{re.escape(character)}|\\{{1,4}}u{code})"


REDACTOR = Redactor()
"""Knows every secret that this process has resolved."""


def message_of(error: BaseException) -> str:
    """What somebody else's exception says, without secrets."""
    try:
        return REDACTOR.text(str(error).encode("utf-8", "replace").decode())  # half of a surrogate pair cannot be kept
    except Exception:  # noqa: BLE001 - an exception with a bug in its own `__str__`
        return "its message cannot be read"
