"""Secrets that cannot be printed by accident, and a redactor in case a server sends one back."""

from __future__ import annotations

import re
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, quote_plus

import msgspec

T = TypeVar("T")

_MASK = "[secret]"
_SECRET_NAME = re.compile(r"api[-_]?key|authorization|password|secret|(^|[-_])token$", re.IGNORECASE)
_SHORTEST = 6
"""Shorter values are not redacted: that would mask ordinary words and protect nothing."""
_RANDOM, _LONG = 12, 20
"""Values with letters and digits look random from the first length on, others from the second."""
_NAME_OR_NUMBER = re.compile("[a-z_]+|[^a-zA-Z]+")
_LOGIN = re.compile(
    r"(?<![a-z])(?:(api[-_ ]?)?keys?|tokens?|bearer|basic|password|secret|credentials?|login|auth\w*)(?![a-z])"
    r"|[?&][\w-]+=$|://[^\s/@]*:$",
    re.IGNORECASE,
)
_NEAR = 40
"""How many characters before a word have to speak of a login."""
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")


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
    """Masks every known secret in free text about to be logged, stored or shown.

    Values that look random are masked wherever they stand. Others, such as the key `ollama`, are also ordinary words,
    names or numbers: they are masked only in messages, where a login is spoken of.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._bytes: list[bytes] = []
        """What to find in JSON."""
        self._words: list[str] = []
        self._word = re.compile("(?!)")

    def add(self, value: str) -> None:
        """Mask this value from now on, also as it appears in JSON, in a URL or in HTML."""
        if len(value) < _SHORTEST or value in self._texts or value in self._words:
            return
        if _looks_random(value):
            self._texts = _longest_first({*self._texts, *_forms(value)})
            self._bytes = [text.encode(errors="surrogatepass") for text in self._texts]
        else:
            self._words = _longest_first({*self._words, *_forms(value)})
            self._word = re.compile(rf"(?<![\w/.-])(?:{'|'.join(map(re.escape, self._words))})(?![\w/-])")

    def text(self, text: str) -> str:
        """Mask what looks random."""
        text = self._masked(text)
        # Escapes are rare enough to lose them all in a text that hides a secret behind some.
        return self._masked(_unescaped(text)) if "\\" in text and self._is_hidden_in(text) else text

    def message(self, text: str) -> str:
        """Mask also words, where a login is spoken of: for errors and logs, not for what a model answered."""
        text = self.text(text)
        return self._word.sub(lambda found: _MASK if _is_of_login(text, found.start()) else found[0], text)

    def json(self, data: bytes) -> bytes:
        """Mask what looks random in the strings of a document; numbers and syntax stay."""
        # `in` raises and catches an exception first, which takes longer than the search.
        is_plain = any(data.find(secret) >= 0 for secret in self._bytes)
        if is_plain or (data.find(b"\\") >= 0 and self._is_hidden_in(data.decode())):
            return msgspec.json.encode(self._strings(msgspec.json.decode(data)))
        return data

    def struct(self, value: T) -> T:
        """Mask what looks random in the strings of a struct."""
        data = msgspec.json.encode(value)
        masked = self.json(data)
        return value if masked is data else msgspec.json.decode(masked, type=type(value))

    def _is_hidden_in(self, text: str) -> bool:
        plain = _unescaped(text)
        return any(secret in plain for secret in self._texts)

    def _masked(self, text: str) -> str:
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, _MASK)
        return text

    def _strings(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._strings(item) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self._strings(item) for name, item in value.items()}
        return value


def _looks_random(value: str) -> bool:
    """Whether it cannot be a word, a number or a name of ours."""
    if len(value) >= _LONG:
        return not _NAME_OR_NUMBER.fullmatch(value)
    return len(value) >= _RANDOM and any(map(str.isalpha, value)) and any(map(str.isdigit, value))


def _is_of_login(text: str, start: int) -> bool:
    return _LOGIN.search(text[max(0, start - _NEAR) : start]) is not None


def _longest_first(values: set[str]) -> list[str]:
    """Because a secret may contain a shorter one."""
    return sorted(values, key=len, reverse=True)


def _forms(value: str) -> set[str]:
    in_text = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    in_html = in_text.replace('"', "&quot;")
    urls = {encode(value, safe, errors="replace") for encode in (quote, quote_plus) for safe in ("", "/")}
    lower = {re.sub("%..", lambda code: code[0].lower(), url) for url in urls}
    forms = {value, in_text, in_html, in_html.replace("'", "&#x27;"), *urls, *lower}
    return {*forms, *(form.replace("\\", "") for form in forms)} - {""}


def _unescaped(text: str) -> str:
    """Decode escapes and drop all backslashes: good enough to tell whether JSON may contain a secret.

    Encoders differ: .NET writes `+` as an escape, PHP puts a backslash before `/`, and JSON inside JSON, such as the
    arguments of tool calls, has even more backslashes.
    """
    decoded = _CODE.sub(lambda code: chr(int(code[1], 16)), text) if "\\u" in text else text
    return decoded.replace("\\", "")


REDACTOR = Redactor()
"""Knows every secret this process has resolved."""


def is_secret_name(name: str) -> bool:
    """Whether a parameter with this name looks like a secret."""
    return _SECRET_NAME.search(name) is not None


def message_of(error: BaseException) -> str:
    """Return the message of a third-party exception, without secrets."""
    try:
        return REDACTOR.message(str(error).encode("utf-8", "replace").decode())  # lone surrogates cannot be stored
    except Exception:  # noqa: BLE001 - the exception's own `__str__` may have a bug
        return "its message cannot be read"
