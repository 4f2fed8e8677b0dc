"""HTTP requests for providers, over aiohttp: bounded replies, and a specific error for every failure."""

from __future__ import annotations

import io
import math
import os
import re
import socket
import ssl
import time
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    ConfigurationError,
    ConnectionFailedError,
    HopelessError,
    ModelNotFoundError,
    OversizedReplyError,
    ProviderError,
    ProxyLoginError,
    ProxyUnreachableError,
    QuotaExhaustedError,
    RateLimitedError,
    RedirectedError,
    RequestRefusedError,
    TimedOutError,
    UnavailableError,
    UnreachableError,
)
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.storable import decode_answer
from prompt_evaluator.providers.address import NO_PROXY, find_proxy
from prompt_evaluator.providers.certificates import HELD, make_context
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from asyncio import Transport

    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

    from prompt_evaluator.model import Limits, Message, ProviderSettings
    from prompt_evaluator.providers.address import Address, Proxy

_MAX_IDLE = 15.0
"""Seconds. Services close idle connections, and a request sent at that moment is lost."""
_CONNECT_TIMEOUT = 30.0
"""Seconds to open a connection. Replies may take minutes, but a service that takes longer to connect is down."""
_CONNECT_SHARE = 0.9
"""The largest part of a request's time for connecting. It is not all, so that it is known which time was too short."""
_MAX_HEADER = 64 * 1024
_LARGE_REQUEST = 1024 * 1024
"""From this size on, aiohttp wants a request as a file."""
_KEEP_ALIVE = (
    ("SOL_SOCKET", "SO_KEEPALIVE", 1),
    ("IPPROTO_TCP", "TCP_KEEPIDLE", 60),
    ("IPPROTO_TCP", "TCP_KEEPINTVL", 60),
)

_JSON = "application/json"
_USER_AGENT = {"User-Agent": f"prompt-evaluator/{__version__}"}
_HEADERS = {**_USER_AGENT, "Content-Type": _JSON, "Accept": _JSON, "Accept-Encoding": "gzip, deflate"}
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_OF_BODY = ("content-length", "transfer-encoding")
_BOM = b"\xef\xbb\xbf"
_GZIP_OR_ZLIB, _RAW = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS
_PACKED = {"gzip": (_GZIP_OR_ZLIB,), "x-gzip": (_GZIP_OR_ZLIB,), "deflate": (_GZIP_OR_ZLIB, _RAW)}
"""What services mean by the names of encodings. `deflate` is zlib, but some send it without zlib's frame."""

_MAX_SHOWN = 300
_MAX_SEARCHED = 10_000
_NO_QUOTA = (
    *("insufficient_quota", "billing_hard_limit", "credit balance is too low", "exceeded your current quota"),
    *("credit_balance_exhausted", "spend_limit", "organization_usage_limit_exceeded"),
)
_RETRY_DELAY = re.compile(r'"retryDelay":\s*"([\d.]+)s"')
"""Where Gemini says how long to wait."""
_RETRIED_STATUSES = {408, 409, 425, 529}
_TRANSIENT_OF_PROXY = {408, 425, 429}
_CERTIFICATE_HINT = " The service may require a client certificate: set cert_file and key_file."

_ENCODER = msgspec.json.Encoder()

_IN_USE: ContextVar[Transport | None] = ContextVar("in_use", default=None)
"""The connection of this task's request, until its reply is complete."""

T = TypeVar("T")


class HttpReply(msgspec.Struct, frozen=True, gc=False):
    """A complete reply with status 200."""

    body: bytes
    headers: Mapping[str, str]
    """Names are in lower case."""
    latency_ms: float


class Way(NamedTuple):
    """How to reach an address."""

    proxy: Proxy | None
    tls: ssl.SSLContext | bool
    """True for the authorities that the system trusts."""
    shows_certificate: bool


class Call:
    """Where a provider's requests go. Built once and used for every request."""

    def __init__(self, provider: str, way: Way, address: Address, headers: Mapping[str, str], limits: Limits) -> None:
        """Raises `HopelessError` if the address or a header is not valid."""
        self.provider, self.way, self.max_reply_bytes = provider, way, limits.max_reply_bytes
        self.place, self.is_tls = f"{address.host}:{address.port}", address.scheme == "https"
        self.host = address.host
        self.answered = False
        """Whether there has been a reply."""
        proxy = way.proxy
        try:
            self.url = URL(address.url, encoded=True)
            sent = _headers(address, {} if proxy is None or self.is_tls else proxy.headers, headers)
            self.options: dict[str, Any] = {"headers": sent, "ssl": way.tls, "allow_redirects": False}
            if proxy is not None:
                self.options["proxy"] = URL(proxy.address.url, encoded=True)
                self.options["proxy_headers"] = {**_USER_AGENT, **proxy.headers}
        except ValueError as error:  # a header with a line break, a host name with an empty part
            raise HopelessError(f"the request cannot be sent: {_brief(error)}.", provider=provider) from None

    def __repr__(self) -> str:
        return f"Call({self.provider})"  # the headers hold the key


class Http:
    """Sends requests over kept connections, whose number is not limited here. Does not retry."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[tuple[tuple[str, str], ...], ssl.SSLContext] = {}

    def way_to(self, provider: str, settings: ProviderSettings, address: Address) -> Way:
        """Return how to reach an address: directly or through a proxy, and with which certificates.

        Raises:
            ConfigurationError: The proxy or a certificate file cannot be used.
        """
        proxy = find_proxy(provider, settings.proxy, address)
        files = tuple((name, path) for name in HELD if (path := getattr(settings, name)) is not None)
        if not files:
            return Way(proxy, tls=True, shows_certificate=False)
        if files not in self._contexts:
            try:
                self._contexts[files] = make_context(dict(files))
            except ValueError as error:
                raise ConfigurationError(f"{provider}: {error}") from None
        return Way(proxy, self._contexts[files], settings.cert_file is not None)

    async def post(self, call: Call, body: bytes, timeout: float) -> HttpReply:  # noqa: ASYNC109 - aiohttp has its own timer
        """Send one request. Raises a `ProviderError` for anything but a complete reply with status 200."""
        began = time.monotonic()
        times = aiohttp.ClientTimeout(
            total=max(timeout, 0.001),  # 0 would mean no limit
            connect=_connect_timeout(timeout),
            ceil_threshold=math.inf,
        )
        data = body if len(body) < _LARGE_REQUEST else io.BytesIO(body)
        _IN_USE.set(None)
        try:
            async with self._opened().post(call.url, data=data, timeout=times, **call.options) as response:
                status, packed = response.status, await _read(response, call)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _failure(call, error, timeout) from None
        finally:
            _abort()
        call.answered = True
        headers = {name.lower(): value for name, value in response.headers.items()}
        if status != 200:  # noqa: PLR2004 - the only status with an answer
            raise _refusal(call, status, headers, packed)
        if not (content := _plain(headers, packed, call)):
            raise BadReplyError("the reply is empty.", provider=call.provider, status=status)
        return HttpReply(content, headers, (time.monotonic() - began) * 1000)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = _Connector(limit=0, keepalive_timeout=_MAX_IDLE, socket_factory=_kept_alive)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # its errors hide the status
                max_line_size=_MAX_HEADER,
                max_field_size=_MAX_HEADER,
            )
        return self._session


class _Connector(aiohttp.TCPConnector):
    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's signature
    ) -> Connection:
        """Pass over connections on which something came unasked, which would be taken for the answer."""
        while True:
            connection = await super().connect(req, traces, timeout)
            if connection.protocol is None or not connection.protocol.should_close:
                _IN_USE.set(connection.transport)
                return connection
            connection.close()


def _abort() -> None:
    """End an unfinished request's connection at once. aiohttp would wait until all is sent, or for TLS to be ended."""
    if (transport := _IN_USE.get()) is not None:
        transport.abort()


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
        what = f"the reply does not have the expected shape: {_brief(error)}."
        raise BadReplyError(what, provider=provider, status=200) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        problem = _not_json(reply.headers.get("content-type", ""))
        what = f"the reply {problem}: {_brief(error)}; it starts with {_start_of(reply.body)}."
        raise BadReplyError(what, provider=provider, status=200) from None


def _not_json(content_type: str) -> str:
    claimed = REDACTOR.message(content_type).partition(";")[0].strip().lower()[:_MAX_SHOWN]
    if claimed == _JSON or claimed.endswith("+json"):
        return "is not the JSON it claims to be"
    return f"is {claimed or 'of unknown type'}, not JSON"


def _headers(address: Address, to_proxy: Mapping[str, str], more: Mapping[str, str]) -> CIMultiDict[str]:
    """Merge headers; later ones win. Raises `ValueError` if one is not valid."""
    sent = CIMultiDict({**_HEADERS, **to_proxy})
    if address.login:
        if any(name.lower() == "authorization" for name in more):
            raise ValueError("it has one login in its address and another in its headers")
        sent["Authorization"] = f"Basic {address.login}"
    for name, value in more.items():
        if not _HEADER_NAME.fullmatch(name) or not value.isprintable():
            raise ValueError("a header has a line break or another character that a header cannot contain")
        if name.lower() not in _OF_BODY:
            sent[name] = value
    return sent


def _connect_timeout(timeout: float) -> float:
    return min(_CONNECT_TIMEOUT, timeout * _CONNECT_SHARE)


def _kept_alive(place: aiohttp.AddrInfoType) -> socket.socket:
    """A long answer may take minutes, and firewalls and NATs drop connections that are silent for that long."""
    sock = socket.socket(*place[:3])
    for level, option, value in _KEEP_ALIVE:
        if hasattr(socket, option):  # not available on every system
            sock.setsockopt(getattr(socket, level), getattr(socket, option), value)
    return sock


# What a reply contains.


async def _read(response: aiohttp.ClientResponse, call: Call) -> bytes:
    if (response.content_length or 0) > call.max_reply_bytes:
        raise _oversized(call, f"its Content-Length is {response.content_length:,}")
    body = bytearray()
    try:
        while part := await response.content.readany():
            body += part
            if len(body) > call.max_reply_bytes:
                raise _oversized(call, "reading was stopped")
    finally:
        if response.content.is_eof():  # another request may use the connection already
            _IN_USE.set(None)
    return bytes(body)


def _plain(headers: Mapping[str, str], body: bytes, call: Call) -> bytes:
    """Return the body unpacked, or as it is if it is not packed: gateways unpack replies and keep the header."""
    for window in _PACKED.get(headers.get("content-encoding", "").strip().lower(), ()):
        machine = zlib.decompressobj(window)
        try:
            content = machine.decompress(body, call.max_reply_bytes + 1)  # a few kilobytes may expand to gigabytes
        except zlib.error:
            continue
        if len(content) > call.max_reply_bytes:
            raise _oversized(call, f"{len(body):,} compressed bytes expand to more")
        if machine.eof:
            return content.removeprefix(_BOM)
    return body.removeprefix(_BOM)


def _oversized(call: Call, what: str) -> OversizedReplyError:
    limit = f"max_reply_bytes ({call.max_reply_bytes:,})"
    return OversizedReplyError(f"the reply is larger than {limit}: {what}.", provider=call.provider)


def _error_text(data: bytes) -> str:
    """Return the message of an error reply, or the start of the body if no message is found."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _start_of(data)
    error = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(error, dict):
        parts = [error.get("message"), error.get("detail"), error.get("code"), error.get("type")]
        error = "; ".join(part.rstrip(".") for part in parts if isinstance(part, str) and part)
    return REDACTOR.message(error)[:_MAX_SHOWN] if isinstance(error, str) and error else _start_of(data)


def _start_of(data: bytes) -> str:
    text = REDACTOR.message(data[:_MAX_SEARCHED].decode(errors="replace"))[:_MAX_SHOWN]
    readable = sum((each.isprintable() or each.isspace()) and each != "\N{REPLACEMENT CHARACTER}" for each in text)
    if readable < len(text) * 3 / 4:  # compressed, or a picture
        return f"{len(data):,} bytes that are not text"
    return repr(text) if data else "an empty reply"


# What a failure means.


def _failure(call: Call, error: Exception, seconds: float) -> ProviderError:  # noqa: PLR0911 - a table of cases
    """Return the error for a request without a complete reply."""
    through = _through(call)
    match error:
        case aiohttp.ConnectionTimeoutError() | aiohttp.ClientConnectorError():
            return _unconnected(call, error, seconds)
        case aiohttp.ClientHttpProxyError():
            return _proxy_refusal(call, error.status, error.message)
        case TimeoutError():
            return TimedOutError(f"no complete reply{through} within {seconds:,.3g} s.", provider=call.provider)
        case aiohttp.ServerDisconnectedError() if not isinstance(error.message, str):
            pass  # within the headers
        case aiohttp.ClientConnectionError() | OSError():
            return _broken_off(call, error)
        case aiohttp.ClientResponseError():
            return _not_http(call, error.message)
        case aiohttp.InvalidURL():
            return HopelessError("the request cannot be sent: its address is not valid.", provider=call.provider)
    what = f"the connection{through} ended before the reply was complete."
    return ConnectionFailedError(what, provider=call.provider)


def _unconnected(call: Call, error: Exception, seconds: float) -> ProviderError:
    proxy, through = call.way.proxy, _through(call)
    if isinstance(error, aiohttp.ClientSSLError):
        what = f"no secure connection{through}: {_brief(error.os_error)}.{_tls_advice(error.os_error)}"
        return HopelessError(what, provider=call.provider)
    if not isinstance(error, aiohttp.ClientConnectorError):
        what = f"no connection to {call.place} within {_connect_timeout(seconds):,.3g} s"
        return _proxy_failure(call, f"gave {what}") if proxy else UnreachableError(f"{what}.", provider=call.provider)
    why, hint = _reason(error.os_error), ""
    if proxy and isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientConnectorDNSError):
        return _proxy_failure(call, f"cannot be reached: {why}")
    if call.is_tls and isinstance(error.os_error, ConnectionResetError | ConnectionAbortedError):
        why, hint = "it was closed during the TLS handshake", _certificate_hint(call)
    return UnreachableError(f"no connection{through or f' to {call.place}'}: {why}.{hint}", provider=call.provider)


def _broken_off(call: Call, error: Exception) -> ProviderError:
    """Return the error for a connection that ended without any part of a reply."""
    through, cause = _through(call), error.__cause__
    if isinstance(cause, ssl.SSLError) and "ALERT" in (cause.reason or ""):  # in TLS 1.3 it comes after the handshake
        what = f"no secure connection{through}: {_brief(cause)}.{_tls_advice(cause)}"
        return HopelessError(what, provider=call.provider)
    known = [each for each in (cause, error) if isinstance(each, OSError)]
    why = _reason(known[0]) if known else "it was closed"
    if _in_doubt(call):
        return _proxy_failure(call, f"ended the connection without a reply: {why}")
    what = f"the connection{through} ended without a reply: {why}.{_certificate_hint(call)}"
    return ConnectionFailedError(what, provider=call.provider)


def _not_http(call: Call, what: str) -> ProviderError:
    if _in_doubt(call):
        return _proxy_failure(call, f"does not speak HTTP: {_brief(what)}")
    return BadReplyError(f"the reply{_through(call)} is not HTTP: {_brief(what)}.", provider=call.provider)


def _refusal(call: Call, status: int, headers: Mapping[str, str], packed: bytes) -> ProviderError:
    """Return the error for a complete reply with a status other than 200."""
    try:
        body = _plain(headers, packed, call)
    except OversizedReplyError:  # the status matters more
        body = packed
    error = _status_error(call, status, headers, _error_text(body))
    if error.retried and error.retry_after is None and (stated := _RETRY_DELAY.search(body.decode(errors="replace"))):
        error.retry_after = float(stated[1])
    error.body = body
    return error


def _status_error(call: Call, status: int, headers: Mapping[str, str], message: str) -> ProviderError:
    proxy = call.way.proxy
    if status == 407 and proxy is not None:  # noqa: PLR2004
        return _proxy_refusal(call, status, message)
    # Without a tunnel, the proxy's replies cannot be told from the service's.
    source = f" The reply came{_through(call)}, which may have written it." if proxy and not call.is_tls else ""
    if 300 <= status < 400:  # noqa: PLR2004
        target = REDACTOR.message(headers.get("location", "nowhere"))[:_MAX_SHOWN]
        what = f"the service redirects to {target}. If that is right, use it as the base_url.{source}"
        return RedirectedError(what, provider=call.provider, status=status)
    kind, sentence = _meaning(status, message)
    wait = retry_after(headers, time.time()) if kind.retried else None
    what = f"{sentence} ({status}): {message.rstrip('.')}.{source}"
    return kind(what, provider=call.provider, status=status, retry_after=wait)


def stated_error(provider: str, status: int, message: str) -> ProviderError:
    """Return the error that a reply with status 200 states, as OpenRouter does once it has begun to answer."""
    kind, sentence = _meaning(status, message)
    what = f"{sentence} ({status}): {REDACTOR.message(message)[:_MAX_SHOWN].rstrip('.')}."
    return kind(what, provider=provider, status=status)


def _meaning(status: int, message: str) -> tuple[type[ProviderError], str]:  # noqa: PLR0911 - a table of cases
    if status in (400, 402, 403, 429) and any(sign in message.lower() for sign in _NO_QUOTA):
        return QuotaExhaustedError, "the account is out of quota"
    match status:
        case 402:
            return QuotaExhaustedError, "payment is required"
        case 401 | 403:
            return AuthenticationError, "the key was not accepted"
        case 407:
            return ProxyLoginError, "a proxy requires a login"
        case 404:
            return ModelNotFoundError, "no such model or address"
        case 429:
            return RateLimitedError, "too many requests"
    if status in _RETRIED_STATUSES or status >= 500:  # noqa: PLR2004
        return UnavailableError, "the service is not available"
    if 400 <= status < 500:  # noqa: PLR2004
        return RequestRefusedError, "the request was refused"
    return BadReplyError, "an unexpected status"


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds the service asks us to wait; None if it does not say, or the value is unreadable.

    Args:
        headers: The reply's headers; lookup must ignore case.
        now: Seconds since the epoch, for services that state a date.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (value := headers.get(name)) and (milliseconds := _number(value)) is not None:
            return milliseconds / 1000
    value = headers.get("retry-after")
    if not value:
        return None
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _proxy_refusal(call: Call, status: int, reason: str) -> ProviderError:
    """Return the error for a refusal by the proxy. Nothing has reached the service."""
    proxy, answer = call.way.proxy, f"({status} {_brief(reason)})" if reason else f"({status})"
    assert proxy is not None  # noqa: S101 - a proxy has answered
    if status == 407:  # noqa: PLR2004
        what = "does not accept the login" if proxy.address.login else "requires a login"
        advice = f"Put the login into {proxy.source} as http://USER:PASSWORD@HOST:PORT; only Basic logins are supported"
        return ProxyLoginError(f"the proxy {proxy} {what} {answer}. {advice}.", provider=call.provider, status=status)
    kind = UnavailableError if status >= 500 or status in _TRANSIENT_OF_PROXY else HopelessError  # noqa: PLR2004
    sentence = _proxy_sentence(call, f"did not connect to {call.place} {answer}")
    return kind(sentence, provider=call.provider, status=status)


def _proxy_failure(call: Call, what: str) -> ProviderError:
    return ProxyUnreachableError(_proxy_sentence(call, what), provider=call.provider)


def _proxy_sentence(call: Call, what: str) -> str:
    proxy = call.way.proxy
    assert proxy is not None  # noqa: S101 - a proxy has failed
    without = f"set it to `{NO_PROXY}`" if proxy.source.startswith("`") else f"add {call.host} to NO_PROXY"
    return f"the proxy {proxy} {what}. Check {proxy.source}, or {without} if no proxy is needed."


def _in_doubt(call: Call) -> bool:
    """Whether a failure may be the proxy's: the tunnel has not been seen to work."""
    return call.way.proxy is not None and call.is_tls and not call.answered


def _through(call: Call) -> str:
    return f" through the proxy {call.way.proxy}" if call.way.proxy else ""


def _certificate_hint(call: Call) -> str:
    """Many servers that miss a client certificate say nothing and close the connection."""
    return _CERTIFICATE_HINT if call.is_tls and not call.way.shows_certificate and not call.answered else ""


def _tls_advice(error: Exception) -> str:
    message = str(error).lower()
    if "verify failed" in message and "mismatch" not in message:
        return " If your company signs it, set ca_file to its authority."
    if "alert" in message and any(word in message for word in ("certificate", "unknown ca", "handshake failure")):
        return _CERTIFICATE_HINT
    return ""


def _reason(error: OSError) -> str:
    """`Connection refused`, where the event loop says `Connect call failed ('127.0.0.1', 9)`."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else _brief(error.strerror or error)


def _brief(what: BaseException | str) -> str:
    message = " ".join(str(what).split()) or type(what).__name__
    return REDACTOR.message(message)[:_MAX_SHOWN].rstrip(" .^")  # aiohttp points at characters
