"""API keys, base addresses, and the secrets in them."""

from __future__ import annotations

import os
import re
import shlex
import string
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.errors import AuthenticationError, ConfigurationError
from prompt_evaluator.model import REDACTOR, Secret
from prompt_evaluator.providers.address import Address, find_proxy
from prompt_evaluator.providers.catalogue import OVER_HTTP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prompt_evaluator.model import ProviderSettings

_SECRET_NAME = re.compile(r"(key|token|secret|password|sig|signature|auth|authorization|code|cookie)s?$", re.IGNORECASE)
_RANDOM_TEXT = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.~-]{20,}", re.ASCII)

_COMMAND_TIMEOUT = 60.0
_SHOWN = 200
_NEW_FILE = 2_000_000_000
"""Nanoseconds within which two versions of a file may share a modification time: file systems round it."""


class Key:
    """An API key that is looked up on every use, so it can change during a run and is never stored in settings."""

    def __init__(self, provider: str, settings: ProviderSettings, environment: Mapping[str, str] = os.environ) -> None:
        self._provider, self._settings, self._environment = provider, settings, environment
        self._path = Path(settings.api_key_file).expanduser() if settings.api_key_file else None
        self._last: Secret | None = None
        self._printed: Secret | None = None
        """What the command printed last."""
        self._version: tuple[int, ...] | None = None
        """The version of the file that the last key was read from."""
        _register_secrets(settings.headers.items())

    @property
    def source(self) -> str | None:
        """What the user has to set: a variable name or a file path, never a value."""
        settings = self._settings
        if command := settings.api_key_command:
            return settings.api_key_env or f"`{command}`"
        return settings.api_key_env or settings.api_key_file

    @property
    def present(self) -> bool:
        return bool(self._settings.api_key_command or self._find())

    def resolve(self) -> Secret | None:
        """Return the key, or None if none is set and none is required.

        Raises:
            AuthenticationError: The key is required but missing, has characters a key cannot contain, or the command
                that prints it has failed.
        """
        if self._printed is not None:
            return self._printed
        if self._last is not None and self._version is not None and self._version == self._version_now():
            return self._last
        value = self._find()
        if not value and self._settings.api_key_command:
            value = self._run_command(self._settings.api_key_command)
            self._printed = Secret(value)
            return self._printed
        if not value:
            if self._settings.key_required and self.source:
                raise AuthenticationError(f"no key. Set {self.source}.", provider=self._provider)
            return None
        if self._last is None or value != self._last.reveal():
            if not (value.isascii() and value.isprintable()):
                what = f"the key in {self.source} has characters that a key cannot contain."
                raise AuthenticationError(what, provider=self._provider)
            self._last = Secret(value)
        return self._last

    def renew(self, used: Secret | None) -> bool:
        """Look the key up again, because it was not accepted. Return whether another one is known now."""
        if self._settings.api_key_command and self._printed is used:
            self._printed = None
        self._version = None
        return self.resolve() != used

    def _run_command(self, command: str) -> str:
        """Run the command that prints the key. What it prints is shown to nobody."""
        try:
            done = subprocess.run(  # noqa: S603 - written by the user, as git's credential helpers are
                shlex.split(command), capture_output=True, text=True, timeout=_COMMAND_TIMEOUT, check=False
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            what = f"the command for the key, `{command}`, could not be run: {type(error).__name__}."
            raise AuthenticationError(what, provider=self._provider) from None
        value = done.stdout.strip()
        if done.returncode or not value:
            said = " ".join(done.stderr.split())[:_SHOWN] or "it printed nothing"
            what = f"the command for the key, `{command}`, ended with {done.returncode}: {said}."
            raise AuthenticationError(what, provider=self._provider)
        return value

    def _find(self) -> str:
        self._version = None
        if value := self._from_variable():
            return value.strip()
        if self._path is None:
            return ""
        self._version = self._version_now()  # taken before reading: the file may be rewritten meanwhile
        try:
            return self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def _from_variable(self) -> str:
        return self._environment.get(self._settings.api_key_env, "") if self._settings.api_key_env else ""

    def _version_now(self) -> tuple[int, ...] | None:
        """The key file's version. None if it cannot be relied on: overridden by a variable, missing or too new."""
        if self._path is None or self._from_variable():
            return None
        try:
            found = os.stat(self._path)  # noqa: PTH116 - runs on every call
        except OSError:
            return None
        if time.time_ns() - found.st_mtime_ns < _NEW_FILE:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def endpoint(provider: str, settings: ProviderSettings, environment: Mapping[str, str] = os.environ) -> Address:
    """Return the base address, and register the secrets it contains with the redactor."""
    from_environment = environment.get(settings.base_url_env) if settings.base_url_env else None
    text = from_environment or settings.base_url
    text = _filled(provider, text, environment) if text else None
    if not text:
        where = settings.base_url_env or f"base_url of provider {provider!r}"
        raise ConfigurationError(f"{provider}: no address. Set {where}.")
    try:
        address = Address.parse(text)
    except ValueError:
        before, at, after = REDACTOR.text(text).partition("?")[0].rpartition("@")
        safe = f"…@{after}" if at else before + after
        raise ConfigurationError(
            f"{provider}: {safe!r} is not a valid address. Write it as https://HOST/PATH or https://HOST:PORT/PATH, "
            "with a port from 1 to 65,535."
        ) from None
    address.hide_login()
    _register_secrets(address.values)
    _register_secrets(settings.query.items())
    return address.with_query(settings.query)


def _filled(provider: str, text: str, environment: Mapping[str, str]) -> str:
    """Fill `{VARIABLE}` in an address from the environment."""
    names = [name for _, name, _, _ in string.Formatter().parse(text) if name] if "{" in text else []
    if missing := [name for name in dict.fromkeys(names) if not environment.get(name)]:
        raise ConfigurationError(f"{provider}: no address. Set {' and '.join(missing)}.")
    for name in names:
        text = text.replace(f"{{{name}}}", environment[name])
    return text


def shown_proxy(provider: str, settings: ProviderSettings) -> str | None:
    """Describe the proxy in use and where it is set, without its login. None if no proxy is used."""
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


def _register_secrets(values: Iterable[tuple[str, str]]) -> None:
    """Register values that are secret judging by their name or form; an `api-version` may occur in ordinary answers."""
    for name, value in values:
        if _SECRET_NAME.search(name):
            REDACTOR.add(value)
            REDACTOR.add(value.rpartition(" ")[2])  # without the `Bearer`
        elif _RANDOM_TEXT.fullmatch(value):
            REDACTOR.add(value)
