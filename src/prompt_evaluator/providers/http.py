"""HTTP for all providers that speak it: one request out, one bounded reply back, every failure by its name."""

from __future__ import annotations

import asyncio
import time
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import aiohttp
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
from prompt_evaluator.providers.waiting import retry_after
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarl import URL

_BASE_HEADERS = {
    "User-Agent": f"prompt-evaluator/{__version__}",
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
}
_SHOWN = 300
_OUT_OF_QUOTA = ("insufficient_quota", "billing_hard_limit", "credit balance is too low", "exceeded your current quota")
_RETRIED_STATUSES = {408, 409, 425, 529}

_ENCODER = msgspec.json.Encoder()

T = TypeVar("T")


class Reply(NamedTuple):
    """A reply with status 200, read to its end."""

    body: bytes
    headers: Mapping[str, str]
    latency_ms: float


class Call(NamedTuple):
    """Where a provider's requests go. Made once, used for every request."""

    provider: str
    url: URL
    headers: Mapping[str, str]
    max_reply_bytes: int

    def __repr__(self) -> str:
        return f"Call({self.provider})"  # headers hold the key


class Http:
    """Connections that are kept and used again. There are as many as the governor lets calls through."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def post(self, call: Call, body: bytes, timeout: float) -> Reply:  # noqa: ASYNC109 - aiohttp's own timer
        """One try. Raises a `ProviderError` for everything that is not a complete reply with status 200."""
        session = self._session or self._open()
        began = time.monotonic()
        try:
            async with session.post(
                call.url,
                data=body,
                headers=call.headers,
                timeout=aiohttp.ClientTimeout(total=timeout),
                allow_redirects=False,
            ) as response:
                data = await _read(response, call)
        except TimeoutError:
            raise TimedOutError(f"no complete reply within {timeout:,.3g} s.", provider=call.provider) from None
        except (aiohttp.ClientSSLError, aiohttp.InvalidURL) as error:
            raise HopelessError(f"{_brief(error)}.", provider=call.provider) from None
        except aiohttp.ClientPayloadError:
            raise ConnectionFailedError("the reply broke off in the middle.", provider=call.provider) from None
        except (aiohttp.ClientConnectionError, ConnectionError) as error:
            raise ConnectionFailedError(f"the connection failed: {_brief(error)}.", provider=call.provider) from None
        except aiohttp.ClientError as error:
            raise BadReplyError(f"the reply is not HTTP: {_brief(error)}.", provider=call.provider) from None
        except ValueError as error:  # a header with a line break, a host name with an empty part
            raise HopelessError(f"the request cannot be sent: {_brief(error)}.", provider=call.provider) from None
        data = REDACTOR.bytes(data)
        if response.status != 200:  # noqa: PLR2004 - the one status that carries an answer
            raise _refusal(call, response, data)
        _check_type(call, response, data)
        return Reply(data, response.headers, (time.monotonic() - began) * 1000)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # lets the loop close the sockets
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        # The governor decides how many calls are in flight; a limit here would be a second, hidden one.
        connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=_BASE_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )
        return self._session


def encode(body: dict[str, Any], provider: str) -> bytes:
    """A request as JSON."""
    try:
        return _ENCODER.encode(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise RequestRefusedError(f"the request cannot be written as JSON: {error}.", provider=provider) from None


def decode(reply: Reply, shape: msgspec.json.Decoder[T], provider: str) -> T:
    """A reply's JSON in the expected shape."""
    try:
        return shape.decode(reply.body)
    except msgspec.ValidationError as error:
        what = f"the reply has another shape than expected: {error}."
        raise BadReplyError(what, provider=provider, status=200) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        what = f"the reply is not the JSON it claims to be: {error}; it starts {_start(reply.body)}."
        raise BadReplyError(what, provider=provider, status=200) from None


async def _read(response: aiohttp.ClientResponse, call: Call) -> bytes:
    most = call.max_reply_bytes
    length = response.content_length
    if length is not None and length > most:
        raise _oversized(call, f"it announces {length:,} bytes")
    if length is not None:
        data = await response.read()
    else:
        parts, size = [], 0
        while chunk := await response.content.readany():
            size += len(chunk)
            if size > most:
                raise _oversized(call, "it does not end")
            parts.append(chunk)
        data = b"".join(parts)
    encoding = REDACTOR.text(response.headers.get("Content-Encoding", "identity")).lower()
    return data if encoding == "identity" else _inflate(data, encoding, call)


def _inflate(data: bytes, encoding: str, call: Call) -> bytes:
    """Decompress no further than allowed: a few kilobytes may stand for gigabytes."""
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


def _check_type(call: Call, response: aiohttp.ClientResponse, data: bytes) -> None:
    if not data:
        raise BadReplyError("the reply is empty.", provider=call.provider, status=response.status)
    said = REDACTOR.text(response.headers.get("Content-Type", "application/json"))
    claimed = said.partition(";")[0].strip().lower()[:_SHOWN]
    if claimed != "application/json" and not claimed.endswith("+json"):
        what = f"the reply is {claimed or 'of no type'}, not JSON; it starts {_start(data)}."
        raise BadReplyError(what, provider=call.provider, status=response.status)


def _refusal(call: Call, response: aiohttp.ClientResponse, data: bytes) -> ProviderError:
    status, said = response.status, error_text(data)
    if 300 <= status < 400:  # noqa: PLR2004
        target = REDACTOR.text(response.headers.get("Location", "nowhere"))
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
