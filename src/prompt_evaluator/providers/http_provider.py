"""Base class of the providers that use HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prompt_evaluator.providers.http import Call
from prompt_evaluator.providers.keys import Key, endpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from prompt_evaluator.model import Answer, ProviderSettings, Request, Secret
    from prompt_evaluator.providers.calls.shared import Resources
    from prompt_evaluator.providers.calls.traits import OnLimits
    from prompt_evaluator.providers.http import HttpReply


class HttpProvider:
    """Holds the address, the key and the connections; subclasses implement the protocol in `answer`."""

    trusted: ClassVar[bool] = True
    path: ClassVar[str] = ""
    """Path of requests, relative to the base address."""
    fixed_headers: ClassVar[dict[str, str]] = {}

    def __init__(self, name: str, settings: ProviderSettings, resources: Resources) -> None:
        self._name, self._settings = name, settings
        self._key = Key(name, settings)
        self._base = endpoint(name, settings)
        self._http = resources.http
        self._way = self._http.way_to(name, settings, self._base)
        self.endpoint = self._base.origin
        self.on_limits: OnLimits | None = None
        self._call: tuple[Secret | None, Call] | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def key(self) -> Secret | None:
        """The current key, or None."""
        return self._key.resolve() if self._key.present else None

    async def close(self) -> None:
        """Do nothing: the connections belong to `Resources`."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - passed to the transport
        raise NotImplementedError

    def _post(self, body: bytes, timeout: float) -> Awaitable[HttpReply]:
        return self._http.post(self._where(), body, timeout)

    def _key_headers(self, key: Secret) -> dict[str, str]:
        if header := self._settings.api_key_header:
            return {header: key.reveal()}
        return {"Authorization": f"Bearer {key.reveal()}"}

    def _where(self) -> Call:
        """Address and headers, rebuilt only when the key changes."""
        key = self._key.resolve()
        if self._call is None or self._call[0] is not key:
            headers = {**self.fixed_headers, **self._settings.headers, **(self._key_headers(key) if key else {})}
            address = self._base.below(self.path)
            self._call = (key, Call(self._name, self._way, address, headers, self._settings.limits))
        return self._call[1]
