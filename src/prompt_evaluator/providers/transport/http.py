"""HTTP for all providers that speak it: one request out, one bounded reply back, every failure by its name."""

from __future__ import annotations

import time
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    ConnectionFailedError,
    HopelessError,
    ModelNotFoundError,
    OversizedReplyError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    RedirectedError,
    RequestRefusedError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.providers.calls.waiting import retry_after
from prompt_evaluator.providers.transport.connections import (
    BrokenOffError,
    Connections,
    Endpoint,
    NotHttpError,
    TlsFailedError,
    TooLargeError,
)
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import Limits
    from prompt_evaluator.providers.transport.address import Address
    from prompt_evaluator.providers.transport.connections import Response

_JSON = "application/json"
_BASE_HEADERS = {
    "User-Agent": f"prompt-evaluator/{__version__}",
    "Content-Type": _JSON,
    "Accept": _JSON,
    "Accept-Encoding": "identity",
}
_SHOWN = 300
_OUT_OF_QUOTA = ("insufficient_quota", "billing_hard_limit", "credit balance is too low", "exceeded your current quota")
_RETRIED_STATUSES = {408, 409, 425, 529}

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
    def make(cls, provider: str, address: Address, headers: Mapping[str, str], limits: Limits) -> Self:
        """Raise `HopelessError` when no request can be made of these."""
        try:
            head = address.head({**_BASE_HEADERS, **headers})
        except ValueError as error:  # a header with a line break, a host name with an empty part
            raise HopelessError(f"the request cannot be sent: {_brief(error)}.", provider=provider) from None
        return cls(provider, Endpoint(address.host, address.port, address.tls), head, limits.max_reply_bytes)

    def __repr__(self) -> str:
        return f"Call({self.provider})"  # the head holds the key


class Http:
    """One try at a time over connections that are kept and used again."""

    def __init__(self) -> None:
        self._connections = Connections()

    async def post(self, call: Call, body: bytes, timeout: float) -> HttpReply:  # noqa: ASYNC109 - the connections' own timer
        """One try. Raises a `ProviderError` for everything that is not a complete reply with status 200."""
        began = time.monotonic()
        request = b"%b%d\r\n\r\n%b" % (call.head, len(body), body)
        try:
            response = await self._connections.send(call.place, request, most=call.max_reply_bytes, seconds=timeout)
        except TimeoutError:
            raise TimedOutError(f"no complete reply within {timeout:,.3g} s.", provider=call.provider) from None
        except TlsFailedError as error:
            raise HopelessError(f"no secure connection: {_brief(error)}.", provider=call.provider) from None
        except BrokenOffError:
            raise ConnectionFailedError("the connection ended before the reply did.", provider=call.provider) from None
        except OSError as error:
            raise ConnectionFailedError(f"the connection failed: {_brief(error)}.", provider=call.provider) from None
        except NotHttpError as error:
            raise BadReplyError(f"the reply is not HTTP: {_brief(error)}.", provider=call.provider) from None
        except TooLargeError as error:
            raise _oversized(call, str(error)) from None
        data = _plain(response, call)
        if response.status != 200:  # noqa: PLR2004 - the one status that carries an answer
            raise _refusal(call, response, data)
        if not data:
            raise BadReplyError("the reply is empty.", provider=call.provider, status=200)
        if (said := response.headers.get("content-type", _JSON)) != _JSON:
            _check_type(call, said, data)
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
    """A reply's JSON in the expected shape."""
    try:
        return shape.decode(reply.body)
    except msgspec.ValidationError as error:
        what = f"the reply has another shape than expected: {error}."
        raise BadReplyError(what, provider=provider, status=200) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        what = f"the reply is not the JSON it claims to be: {error}; it starts {_start(reply.body)}."
        raise BadReplyError(what, provider=provider, status=200) from None


def _plain(response: Response, call: Call) -> bytes:
    """The reply's body without secrets that the service repeats, and as it was before it was compressed."""
    encoding = response.headers.get("content-encoding")
    return REDACTOR.bytes(_inflate(response.body, REDACTOR.text(encoding).lower(), call) if encoding else response.body)


def _inflate(data: bytes, encoding: str, call: Call) -> bytes:
    """Decompress no further than allowed: a few kilobytes may stand for gigabytes."""
    if encoding == "identity":
        return data
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise BadReplyError(f"the reply is encoded as {encoding[:40]!r}, unasked.", provider=call.provider)
    machine = zlib.decompressobj(zlib.MAX_WBITS | 32)  # takes gzip and zlib
    try:
        result = machine.decompress(data, call.max_reply_bytes + 1)
    except zlib.error as error:
        raise BadReplyError(
            f"the reply is not the {encoding} it claims to be: {error}.", provider=call.provider
        ) from None
    if len(result) > call.max_reply_bytes:
        raise _oversized(call, f"{len(data):,} bytes decompress to more")
    if not machine.eof:
        raise BadReplyError(f"the {encoding} reply is cut off.", provider=call.provider)
    return result


def _oversized(call: Call, why: str) -> OversizedReplyError:
    limit = f"{call.max_reply_bytes:,} bytes"
    return OversizedReplyError(f"the reply is larger than max_reply_bytes, {limit}: {why}.", provider=call.provider)


def _check_type(call: Call, said: str, data: bytes) -> None:
    claimed = REDACTOR.text(said).partition(";")[0].strip().lower()[:_SHOWN]
    if claimed != _JSON and not claimed.endswith("+json"):
        what = f"the reply is {claimed or 'of no type'}, not JSON; it starts {_start(data)}."
        raise BadReplyError(what, provider=call.provider, status=200)


def _refusal(call: Call, response: Response, data: bytes) -> ProviderError:
    status, said = response.status, error_text(data)
    if 300 <= status < 400:  # noqa: PLR2004
        target = REDACTOR.text(response.headers.get("location", "nowhere"))
        what = f"it redirects to {target[:_SHOWN]}; if that is right, make it the base_url."
        return RedirectedError(what, provider=call.provider, status=status)
    kind, sentence = _meaning(status, said)
    wait = retry_after(response.headers, time.time()) if kind.retried else None
    return kind(f"{sentence} ({status}): {said.rstrip('.')}.", provider=call.provider, status=status, retry_after=wait)


def _meaning(status: int, said: str) -> tuple[type[ProviderError], str]:  # noqa: PLR0911 - a table of cases
    if status in (402, 403, 429) and any(sign in said.lower() for sign in _OUT_OF_QUOTA):
        return QuotaExhaustedError, "the account is out of quota"
    match status:
        case 402:
            return QuotaExhaustedError, "payment is required"
        case 401 | 403 | 407:
            return AuthenticationError, "the key was not accepted"
        case 404:
            return ModelNotFoundError, "no such model or address"
        case 429:
            return RateLimitedError, "too many requests for now"
    if status in _RETRIED_STATUSES or status >= 500:  # noqa: PLR2004
        return UnavailableError, "the service is not available"
    if 400 <= status < 500:  # noqa: PLR2004
        return RequestRefusedError, "the request was refused"
    return BadReplyError, "an unexpected status"


def error_text(data: bytes) -> str:
    """What an error reply says: its message where it has one in the usual places, else how it starts."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _start(data)
    error = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(error, dict):
        parts = [error.get("message"), error.get("detail"), error.get("code"), error.get("type")]
        error = "; ".join(part for part in parts if isinstance(part, str) and part)
    return error[:_SHOWN] if isinstance(error, str) and error else _start(data)


def _start(data: bytes) -> str:
    return repr(data[:_SHOWN].decode(errors="replace")) if data else "an empty reply"


def _brief(error: BaseException) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return REDACTOR.text(said)[:_SHOWN].rstrip(".")
