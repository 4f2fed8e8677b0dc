"""HTTP requests for providers: bounded replies, and a specific error for every failure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from prompt_evaluator.errors import BadReplyError, ConfigurationError, HopelessError, RequestRefusedError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.storable import decode_answer
from prompt_evaluator.providers.transport.connections import Connections, Endpoint
from prompt_evaluator.providers.transport.content import OversizedContentError, UnreadableContentError, plain
from prompt_evaluator.providers.transport.failures import KNOWN, brief, failure, refusal, start_of, unusable
from prompt_evaluator.providers.transport.proxy import find_proxy
from prompt_evaluator.providers.transport.tls import TlsFiles
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from prompt_evaluator.model import Limits, Message, ProviderSettings
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


class HttpReply(msgspec.Struct, frozen=True, gc=False):
    """A complete reply with status 200."""

    body: bytes
    headers: Mapping[str, str]
    """Names are in lower case."""
    latency_ms: float


class Call(NamedTuple):
    """Where a provider's requests go. Built once and used for every request."""

    provider: str
    place: Endpoint
    head: bytes
    max_reply_bytes: int

    @classmethod
    def make(cls, provider: str, place: Endpoint, address: Address, headers: Mapping[str, str], limits: Limits) -> Self:
        """Raises `HopelessError` if the address or a header is not valid."""
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
    """Sends requests over kept connections. Does not retry."""

    def __init__(self) -> None:
        self._connections = Connections()

    def way_to(self, provider: str, settings: ProviderSettings, address: Address) -> Endpoint:
        """Return how to reach an address: directly or through a proxy, and with which certificates.

        Raises:
            ConfigurationError: The proxy or a certificate file cannot be used.
        """
        proxy, files = find_proxy(provider, settings.proxy, address), TlsFiles.of(settings)
        if any(files):
            try:
                self._connections.context(files)
            except ValueError as error:
                raise ConfigurationError(f"{provider}: {error}") from None
        return Endpoint(address.host, address.port, address.tls, proxy, files)

    async def post(self, call: Call, body: bytes, timeout: float) -> HttpReply:  # noqa: ASYNC109 - connections have their own timer
        """Send one request. Raises a `ProviderError` for anything but a complete reply with status 200."""
        began = time.monotonic()
        request = b"%b%d\r\n\r\n%b" % (call.head, len(body), body)
        try:
            response = await self._connections.send(call.place, request, most=call.max_reply_bytes, seconds=timeout)
        except KNOWN as error:
            raise failure(call, error, timeout) from None
        if response.status != 200:  # noqa: PLR2004 - the only status with an answer
            raise refusal(call, response)
        try:
            data = plain(response, call.max_reply_bytes)
        except (UnreadableContentError, OversizedContentError) as error:
            raise unusable(call, response, error) from None
        if not data:
            raise BadReplyError("the reply is empty.", provider=call.provider, status=200)
        return HttpReply(data, response.headers, (time.monotonic() - began) * 1000)

    async def close(self) -> None:
        await self._connections.close()


def encode(body: Message | dict[str, Any], provider: str) -> bytes:
    """Encode a request as JSON. Raises `RequestRefusedError` if that is impossible."""
    try:
        return _ENCODER.encode(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestRefusedError(f"the request cannot be encoded as JSON: {error}.", provider=provider) from None


def decode(reply: HttpReply, shape: msgspec.json.Decoder[T], provider: str) -> T:
    """Decode a reply's JSON, ignoring its content type: gateways send all kinds of them."""
    try:
        return decode_answer(reply.body, shape)
    except msgspec.ValidationError as error:
        what = f"the reply does not have the expected shape: {error}."
        raise BadReplyError(what, provider=provider, status=200) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        problem = _not_json(reply.headers.get("content-type", ""))
        what = f"the reply {problem}: {error}; it starts with {start_of(reply.body)}."
        raise BadReplyError(what, provider=provider, status=200) from None


def _not_json(content_type: str) -> str:
    claimed = REDACTOR.text(content_type).partition(";")[0].strip().lower()[:_SHOWN_TYPE]
    if claimed == _JSON or claimed.endswith("+json"):
        return "is not the JSON it claims to be"
    return f"is {claimed or 'of unknown type'}, not JSON"
