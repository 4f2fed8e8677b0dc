"""Where a key comes from, and what address it goes to."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.errors import AuthenticationError, ConfigurationError
from prompt_evaluator.model import REDACTOR, Secret
from prompt_evaluator.providers.transport.address import Address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prompt_evaluator.model import ProviderSettings

_SECRET_NAME = re.compile(r"(key|token|secret|password|sig|signature|auth|authorization|code|cookie)s?$", re.IGNORECASE)
_RANDOM_TEXT = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.~-]{20,}", re.ASCII)


class Key:
    """A key that is looked up each time it is used, so that it may change and is never kept in settings."""

    def __init__(self, provider: str, settings: ProviderSettings, environment: Mapping[str, str] = os.environ) -> None:
        self._provider, self._settings, self._environment = provider, settings, environment
        self._last: Secret | None = None
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
        if self._settings.api_key_env and (value := self._environment.get(self._settings.api_key_env)):
            return value.strip()
        if self._settings.api_key_file:
            try:
                return Path(self._settings.api_key_file).expanduser().read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError):
                return ""
        return ""


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
