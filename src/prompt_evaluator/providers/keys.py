"""Where a key comes from, and what address it goes to."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.errors import AuthenticationError, ConfigurationError
from prompt_evaluator.model import REDACTOR, Secret
from prompt_evaluator.providers.catalogue import OVER_HTTP
from prompt_evaluator.providers.transport.address import Address
from prompt_evaluator.providers.transport.proxy import find_proxy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prompt_evaluator.model import ProviderSettings

_SECRET_NAME = re.compile(r"(key|token|secret|password|sig|signature|auth|authorization|code|cookie)s?$", re.IGNORECASE)
_RANDOM_TEXT = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.~-]{20,}", re.ASCII)

_NEW_FILE = 2_000_000_000
"""Nanoseconds for which two versions of a file may have the same time, because file systems round it."""


class Key:
    """A key that is looked up each time it is used, so that it may change and is never kept in settings."""

    def __init__(self, provider: str, settings: ProviderSettings, environment: Mapping[str, str] = os.environ) -> None:
        self._provider, self._settings, self._environment = provider, settings, environment
        self._path = Path(settings.api_key_file).expanduser() if settings.api_key_file else None
        self._last: Secret | None = None
        self._version: tuple[int, ...] | None = None
        """Which version of the file the last key is from."""
        _know(settings.headers.items())

    @property
    def source(self) -> str | None:
        """What to set, for people: a variable's name or a file's path, never a value."""
        return self._settings.api_key_env or self._settings.api_key_file

    @property
    def present(self) -> bool:
        return bool(self._find())

    def resolve(self) -> Secret | None:
        """The key; None where none is needed and none is set.

        Raises:
            AuthenticationError: It is needed and missing, or cannot be a key.
        """
        if self._last is not None and self._version is not None and self._version == self._version_now():
            return self._last
        value = self._find()
        if not value:
            if self._settings.key_required and self.source:
                raise AuthenticationError(f"no key. Set {self.source}.", provider=self._provider)
            return None
        if self._last is None or value != self._last.reveal():
            if not (value.isascii() and value.isprintable()):
                what = f"the key in {self.source} has characters that no key can have."
                raise AuthenticationError(what, provider=self._provider)
            self._last = Secret(value)
        return self._last

    def _find(self) -> str:
        self._version = None
        if value := self._of_variable():
            return value.strip()
        if self._path is None:
            return ""
        self._version = self._version_now()  # before it is read: it may be written meanwhile
        try:
            return self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def _of_variable(self) -> str:
        return self._environment.get(self._settings.api_key_env, "") if self._settings.api_key_env else ""

    def _version_now(self) -> tuple[int, ...] | None:
        """None where the file has to be read to know: it counts, and is new or not there."""
        if self._path is None or self._of_variable():
            return None
        try:
            found = os.stat(self._path)  # noqa: PTH116 - for every call
        except OSError:
            return None
        if time.time_ns() - found.st_mtime_ns < _NEW_FILE:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def endpoint(provider: str, settings: ProviderSettings, environment: Mapping[str, str] = os.environ) -> Address:
    """The base address. Whatever secrets it contains are known to the redactor from then on."""
    from_environment = environment.get(settings.base_url_env) if settings.base_url_env else None
    text = from_environment or settings.base_url
    if not text:
        where = settings.base_url_env or f"base_url of the provider {provider!r}"
        raise ConfigurationError(f"{provider}: no address. Set {where}.")
    try:
        address = Address.parse(text)
    except ValueError:
        before, at, after = REDACTOR.text(text).partition("?")[0].rpartition("@")
        shown = f"…@{after}" if at else before + after
        raise ConfigurationError(f"{provider}: {shown!r} is no address. It has to start with https://.") from None
    _know_login(address)
    _know(address.values)
    _know(settings.query.items())
    return address.with_query(settings.query)


def shown_proxy(provider: str, settings: ProviderSettings) -> str | None:
    """The proxy that calls go through, and who names it, without its login; None where there is none."""
    if settings.kind not in OVER_HTTP:
        return None
    try:
        address = endpoint(provider, settings)
    except ConfigurationError:
        return None
    try:
        proxy = find_proxy(provider, settings.proxy, address)
    except ConfigurationError as error:
        return f"unusable ({str(error).removeprefix(f'{provider}: ')})"
    return f"{proxy} ({proxy.source})" if proxy else None


def _know(values: Iterable[tuple[str, str]]) -> None:
    """Tell the redactor what is a secret by its name or its looks; an `api-version` is a word of ordinary answers."""
    for name, value in values:
        if _SECRET_NAME.search(name):
            REDACTOR.add(value)
            REDACTOR.add(value.rpartition(" ")[2])  # without the `Bearer`
        elif _RANDOM_TEXT.fullmatch(value):
            REDACTOR.add(value)


def _know_login(address: Address) -> None:
    REDACTOR.add(address.password or address.user)
    if address.login:
        REDACTOR.add(address.login)
