"""Base class of the providers that use HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from prompt_evaluator.errors import AuthenticationError
from prompt_evaluator.providers.http import Call
from prompt_evaluator.providers.keys import Key, endpoint

if TYPE_CHECKING:
    from prompt_evaluator.model import Answer, ProviderSettings, Request, Secret
    from prompt_evaluator.providers.http import HttpReply
    from prompt_evaluator.providers.opened import Resources


class HttpProvider:
    """Holds the address, the key and the connections; subclasses implement the protocol in `answer`."""

    trusted: ClassVar[bool] = True
    fixed_headers: dict[str, str] = {}  # noqa: RUF012 - replaced, never changed

    def __init__(self, name: str, settings: ProviderSettings, resources: Resources) -> None:
        self._name, self._settings = name, settings
        self._key = Key(name, settings)
        self._base = endpoint(name, settings)
        self._http = resources.http
        self._way_there = self._http.way_to(name, settings, self._base)
        self.endpoint = self._base.origin
        self._calls: dict[str, tuple[Secret | None, Call]] = {}
        """By path, with the key that is in it."""

    @property
    def name(self) -> str:
        return self._name

    def resolve_key(self) -> None:
        """Raise `AuthenticationError` if there is no usable key."""
        self._key.resolve()

    @property
    def key(self) -> Secret | None:
        """The current key, or None."""
        return self._key.resolve() if self._key.present else None

    async def close(self) -> None:
        """Do nothing: the connections belong to `Resources`."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - passed to the transport
        raise NotImplementedError

    async def _post(self, body: bytes, timeout: float, path: str = "") -> HttpReply:  # noqa: ASYNC109 - passed on
        """Send a request to a path below the base address. A key that has expired is asked for again, once."""
        used = self._key.resolve()
        try:
            return await self._http.post(self._where(path), body, timeout)
        except AuthenticationError as error:
            if error.status != 401 or not await asyncio.to_thread(self._key.renew, used):  # noqa: PLR2004
                raise
        return await self._http.post(self._where(path), body, timeout)

    def _key_headers(self, key: Secret) -> dict[str, str]:
        if header := self._settings.api_key_header:
            return {header: key.reveal()}
        return {"Authorization": f"Bearer {key.reveal()}"}

    def _where(self, path: str) -> Call:
        """Address and headers, rebuilt only when the key changes."""
        key = self._key.resolve()
        known = self._calls.get(path)
        if known is None or known[0] is not key:
            headers = {**self.fixed_headers, **self._settings.headers, **(self._key_headers(key) if key else {})}
            address = self._base.below(path)
            call = Call(self._name, self._way_there, address, headers, self._settings.limits)
            known = self._calls[path] = (key, call)
        return known[1]
