"""HTTP for all providers that speak it: one request out, one bounded reply back, every failure by its name."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from prompt_evaluator.errors import BadReplyError, ConfigurationError, HopelessError, RequestRefusedError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.providers.transport.connections import Connections, Endpoint
from prompt_evaluator.providers.transport.content import plain
from prompt_evaluator.providers.transport.failures import KNOWN, brief, failure, refusal, start_of
from prompt_evaluator.providers.transport.proxy import find_proxy
from prompt_evaluator.providers.transport.tls import TlsFiles
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import Limits, ProviderSettings
    from prompt_evaluator.providers.transport.address import Address

_JSON = "application/json"
_BASE_HEADERS = {
    "User-Agent": f"prompt-evaluator/{__version__}",
    "Content-Type": _JSON,
    "Accept": _JSON,
    "Accept-Encoding": "identity",
}
_SHOWN_TYPE = 100

_ENCODER = msgspec.json.Encoder()

T = TypeVar("T")


class HttpReply(NamedTuple):
    """A reply with status 200, read to its end."""

    body: bytes
    headers: Mapping[str, str]
    """By their names in lower case."""
    latency_ms: float


class Call(NamedTuple):
    """Where a provider's requests go. Made once, used for every request."""

    provider: str
    place: Endpoint
    head: bytes
    max_reply_bytes: int

    @classmethod
    def make(cls, provider: str, place: Endpoint, address: Address, headers: Mapping[str, str], limits: Limits) -> Self:
        """Raise `HopelessError` when no request can be made of these."""
        forwarding = place.proxy if not place.tls else None
        to_proxy = forwarding.headers if forwarding else {}
        try:
            head = address.head({**_BASE_HEADERS, **to_proxy, **headers}, forwarded=forwarding is not None)
        except ValueError as error:  # a header with a line break, a host name with an empty part
            raise HopelessError(f"the request cannot be sent: {brief(error)}.", provider=provider) from None
        return cls(provider, place, head, limits.max_reply_bytes)

    def __repr__(self) -> str:
        return f"Call({self.provider})"  # the head holds the key


class Http:
    """One try at a time over connections that are kept and used again."""

    def __init__(self) -> None:
        self._connections = Connections()

    def way_to(self, provider: str, settings: ProviderSettings, address: Address) -> Endpoint:
        """How requests reach an address: straight or through a proxy, and with which certificates.

        Raises:
            ConfigurationError: The proxy or a file cannot be used; says why.
        """
        proxy, files = find_proxy(provider, settings.proxy, address), TlsFiles.of(settings)
        if any(files):
            try:
                self._connections.context(files)
            except ValueError as error:
                raise ConfigurationError(f"{provider}: {error}") from None
        return Endpoint(address.host, address.port, address.tls, proxy, files)

    async def post(self, call: Call, body: bytes, timeout: float) -> HttpReply:  # noqa: ASYNC109 - the connections' own timer
        """One try. Raises a `ProviderError` for everything that is not a complete reply with status 200."""
        began = time.monotonic()
        request = b"%b%d\r\n\r\n%b" % (call.head, len(body), body)
        try:
            response = await self._connections.send(call.place, request, most=call.max_reply_bytes, seconds=timeout)
            data = plain(response, call.max_reply_bytes)
        except KNOWN as error:
            raise failure(call, error, timeout) from None
        if response.status != 200:  # noqa: PLR2004 - the one status that carries an answer
            raise refusal(call, response, data)
        if not data:
            raise BadReplyError("the reply is empty.", provider=call.provider, status=200)
        return HttpReply(data, response.headers, (time.monotonic() - began) * 1000)

    async def close(self) -> None:
        await self._connections.close()


def encode(body: dict[str, Any], provider: str) -> bytes:
    """A request as JSON."""
    try:
        return _ENCODER.encode(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestRefusedError(f"the request cannot be written as JSON: {error}.", provider=provider) from None


def decode(reply: HttpReply, shape: msgspec.json.Decoder[T], provider: str) -> T:
    """A reply's JSON in the expected shape, whatever type the service says it has: gateways say all sorts of things."""
    try:
        return shape.decode(reply.body)
    except msgspec.ValidationError as error:
        what = f"the reply has another shape than expected: {error}."
        raise BadReplyError(what, provider=provider, status=200) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        what = (
            f"the reply {_not_json(reply.headers.get('content-type', ''))}: {error}; it starts {start_of(reply.body)}."
        )
        raise BadReplyError(what, provider=provider, status=200) from None


def _not_json(said: str) -> str:
    claimed = REDACTOR.text(said).partition(";")[0].strip().lower()[:_SHOWN_TYPE]
    if claimed == _JSON or claimed.endswith("+json"):
        return "is not the JSON it claims to be"
    return f"is {claimed or 'of no type'}, not JSON"
