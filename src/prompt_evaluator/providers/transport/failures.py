"""What each way to fail means for a call: an error of ours with a sentence that says what to do."""

from __future__ import annotations

import ssl
import time
from typing import TYPE_CHECKING

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
    UnreachableError,
)
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.providers.calls.waiting import retry_after
from prompt_evaluator.providers.transport.connection import BrokenOffError, NotHttpError, TooLargeError
from prompt_evaluator.providers.transport.connections import NobodyThereError, NotConnectedError, TlsFailedError
from prompt_evaluator.providers.transport.content import OversizedContentError, UnreadableContentError
from prompt_evaluator.providers.transport.proxy import NO_PROXY
from prompt_evaluator.providers.transport.tunnel import ProxyFailedError, ProxyRefusedError

if TYPE_CHECKING:
    from prompt_evaluator.providers.transport.connection import Response
    from prompt_evaluator.providers.transport.http import Call
    from prompt_evaluator.providers.transport.proxy import Proxy

KNOWN = (
    OSError,
    TlsFailedError,
    ProxyRefusedError,
    NotHttpError,
    TooLargeError,
    UnreadableContentError,
    OversizedContentError,
)
"""What goes wrong on the way."""

_SHOWN = 300
_OUT_OF_QUOTA = ("insufficient_quota", "billing_hard_limit", "credit balance is too low", "exceeded your current quota")
_RETRIED_STATUSES = {408, 409, 425, 529}
_TRANSIENT_OF_PROXY = {408, 425, 429}


def failure(call: Call, error: Exception, seconds: float) -> ProviderError:  # noqa: C901, PLR0911 - a table of cases
    """What became of a request that has no complete reply."""
    name, through = call.provider, _through(call.place.proxy)
    to = f" to {call.place.host}:{call.place.port}"
    match error:
        case NotConnectedError():
            return UnreachableError(f"no connection{through or to} within {error.args[0]:,.3g} s.", provider=name)
        case NobodyThereError():
            return UnreachableError(f"no connection{through or to}: {brief(error)}.", provider=name)
        case TimeoutError():
            return TimedOutError(f"no complete reply{through} within {seconds:,.3g} s.", provider=name)
        case TlsFailedError() | ssl.SSLError() if _is_final(error):
            return HopelessError(f"no secure connection{through}: {brief(error)}.{_tls_advice(error)}", provider=name)
        case ProxyRefusedError():
            return _proxy_refusal(call, error.status, error.reason, error.logins)
        case ProxyFailedError():
            return UnreachableError(_proxy_sentence(call, brief(error)), provider=name)
        case BrokenOffError():
            return ConnectionFailedError(f"the connection{through} ended before the reply did.", provider=name)
        case OSError():
            return ConnectionFailedError(f"the connection{through} failed: {brief(error)}.", provider=name)
        case NotHttpError():
            return BadReplyError(f"the reply{through} is not HTTP: {brief(error)}.", provider=name)
        case UnreadableContentError():
            return BadReplyError(f"the reply {error}.", provider=name)
        case _:
            limit = f"{call.max_reply_bytes:,} bytes"
            return OversizedReplyError(f"the reply is larger than max_reply_bytes, {limit}: {error}.", provider=name)


def refusal(call: Call, response: Response, data: bytes) -> ProviderError:
    """What a complete reply with another status than 200 means."""
    status, said, proxy = response.status, error_text(data), call.place.proxy
    if status == 407 and proxy is not None:  # noqa: PLR2004
        offered = response.headers.get("proxy-authenticate", "").split(" ")[0]
        return _proxy_refusal(call, status, said, [REDACTOR.text(offered)] if offered else [])
    # Only a tunnel tells the replies of the service from those of the proxy.
    source = f" The reply came{_through(proxy)}, which may have written it." if proxy and not call.place.tls else ""
    if 300 <= status < 400:  # noqa: PLR2004
        target = REDACTOR.text(response.headers.get("location", "nowhere"))
        what = f"it redirects to {target[:_SHOWN]}; if that is right, make it the base_url.{source}"
        return RedirectedError(what, provider=call.provider, status=status)
    kind, sentence = _meaning(status, said)
    wait = retry_after(response.headers, time.time()) if kind.retried else None
    what = f"{sentence} ({status}): {said.rstrip('.')}.{source}"
    return kind(what, provider=call.provider, status=status, retry_after=wait)


def _meaning(status: int, said: str) -> tuple[type[ProviderError], str]:  # noqa: PLR0911 - a table of cases
    if status in (402, 403, 429) and any(sign in said.lower() for sign in _OUT_OF_QUOTA):
        return QuotaExhaustedError, "the account is out of quota"
    match status:
        case 402:
            return QuotaExhaustedError, "payment is required"
        case 401 | 403:
            return AuthenticationError, "the key was not accepted"
        case 407:
            return AuthenticationError, "a proxy on the way wants a login"
        case 404:
            return ModelNotFoundError, "no such model or address"
        case 429:
            return RateLimitedError, "too many requests for now"
    if status in _RETRIED_STATUSES or status >= 500:  # noqa: PLR2004
        return UnavailableError, "the service is not available"
    if 400 <= status < 500:  # noqa: PLR2004
        return RequestRefusedError, "the request was refused"
    return BadReplyError, "an unexpected status"


def _proxy_refusal(call: Call, status: int, reason: str, logins: list[str]) -> ProviderError:
    """Nothing has reached the service."""
    said = f"({status}{f' {REDACTOR.text(reason)[:_SHOWN]}' if reason else ''})"
    if status == 407:  # noqa: PLR2004
        return _login_refusal(call, said, logins)
    sentence = _proxy_sentence(call, f"does not connect us to {call.place.host}:{call.place.port} {said}")
    if status >= 500 or status in _TRANSIENT_OF_PROXY:  # noqa: PLR2004
        return UnavailableError(sentence, provider=call.provider, status=status)
    return HopelessError(sentence, provider=call.provider, status=status)


def _login_refusal(call: Call, said: str, logins: list[str]) -> ProviderError:
    proxy = call.place.proxy
    assert proxy is not None  # noqa: S101 - it has answered
    if logins and "basic" not in map(str.lower, logins):
        what = f"wants a login of the kind {' or '.join(logins)}, which is not supported"
        advice = f"Ask for Basic, or name in {proxy.source} a proxy of your own that logs in to it"
    else:
        what = "does not accept the login" if proxy.login else "wants a login"
        advice = f"Write the login into {proxy.source}, as http://USER:PASSWORD@HOST:PORT"
    return AuthenticationError(f"the proxy {proxy} {what} {said}. {advice}.", provider=call.provider, status=407)


def _proxy_sentence(call: Call, what: str) -> str:
    proxy, host = call.place.proxy, call.place.host
    assert proxy is not None  # noqa: S101 - it is what has failed
    without = f"write `{NO_PROXY}` there" if proxy.source.startswith("`") else f"name {host} in NO_PROXY"
    advice = f"Check {proxy.source}, or {without} if no proxy is needed."
    return f"the proxy {proxy} {what}. {advice}"


def _through(proxy: Proxy | None) -> str:
    return f" through the proxy {proxy}" if proxy else ""


def _is_final(error: Exception) -> bool:
    """Whether it is about who we are or who the service is. In TLS 1.3 it can say so after the handshake."""
    return isinstance(error, TlsFailedError) or "ALERT" in (getattr(error, "reason", None) or "")


def _tls_advice(error: Exception) -> str:
    said = str(error).lower()
    if "verify failed" in said and "mismatch" not in said:
        return " If your company signs it, name its authority in ca_file."
    if "alert" in said and any(word in said for word in ("certificate", "unknown ca", "handshake failure")):
        return " The service may want a certificate: see cert_file and key_file."
    return ""


def error_text(data: bytes) -> str:
    """What an error reply says: its message where it has one in the usual places, else how it starts."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return start_of(data)
    error = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(error, dict):
        parts = [error.get("message"), error.get("detail"), error.get("code"), error.get("type")]
        error = "; ".join(part for part in parts if isinstance(part, str) and part)
    return error[:_SHOWN] if isinstance(error, str) and error else start_of(data)


def start_of(data: bytes) -> str:
    return repr(data[:_SHOWN].decode(errors="replace")) if data else "an empty reply"


def brief(error: BaseException) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return REDACTOR.text(said)[:_SHOWN].rstrip(".")
