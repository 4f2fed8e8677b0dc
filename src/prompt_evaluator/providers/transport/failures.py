"""Maps transport failures and error replies to `ProviderError`s whose messages say what to do."""

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
from prompt_evaluator.providers.retry_after import retry_after
from prompt_evaluator.providers.transport.connection import BrokenOffError, NotHttpError, TooLargeError
from prompt_evaluator.providers.transport.connections import (
    HandshakeEndedError,
    NobodyThereError,
    NotConnectedError,
    TlsFailedError,
    UnansweredError,
)
from prompt_evaluator.providers.transport.content import OversizedContentError, UnreadableContentError, readable
from prompt_evaluator.providers.transport.dialling import reason
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
)
"""Transport exceptions that `failure` handles."""

_MAX_SHOWN = 300
_NO_QUOTA = ("insufficient_quota", "billing_hard_limit", "credit balance is too low", "exceeded your current quota")
_RETRIED_STATUSES = {408, 409, 425, 529}
_CERTIFICATE_HINT = " The service may require a client certificate: set cert_file and key_file."
_TRANSIENT_OF_PROXY = {408, 425, 429}


def failure(call: Call, error: Exception, seconds: float) -> ProviderError:  # noqa: PLR0911 - a table of cases
    """Return the error for a request without a complete reply."""
    name, through = call.provider, _through(call.place.proxy)
    match error:
        case NotConnectedError() | NobodyThereError() | ProxyFailedError():
            return _unreachable(call, error)
        case TimeoutError():
            return TimedOutError(f"no complete reply{through} within {seconds:,.3g} s.", provider=name)
        case TlsFailedError() | ssl.SSLError() if _is_final(error):
            return HopelessError(f"no secure connection{through}: {brief(error)}.{_tls_advice(error)}", provider=name)
        case ProxyRefusedError():
            return _proxy_refusal(call, error.status, error.reason, error.logins)
        case UnansweredError():
            what = f"the connection{through} ended without a reply: {brief(error)}.{_certificate_hint(call)}"
            return ConnectionFailedError(what, provider=name)
        case BrokenOffError():
            return ConnectionFailedError(f"the connection{through} ended before the reply was complete.", provider=name)
        case OSError():
            return ConnectionFailedError(f"the connection{through} failed: {reason(error)}.", provider=name)
        case NotHttpError():
            return BadReplyError(f"the reply{through} is not HTTP: {brief(error)}.", provider=name)
        case _:
            return _oversized(call, error)


def _unreachable(call: Call, error: NotConnectedError | NobodyThereError | ProxyFailedError) -> UnreachableError:
    proxy, to = call.place.proxy, f" to {call.place.host}:{call.place.port}"
    if isinstance(error, ProxyFailedError):
        return ProxyUnreachableError(_proxy_sentence(call, brief(error)), provider=call.provider)
    if isinstance(error, NotConnectedError):
        what = f"no connection{to} within {error.args[0]:,.3g} s"
        if proxy:
            return ProxyUnreachableError(_proxy_sentence(call, f"gave {what}"), provider=call.provider)
        return UnreachableError(f"{what}.", provider=call.provider)
    hint = _certificate_hint(call) if isinstance(error, HandshakeEndedError) else ""
    return UnreachableError(f"no connection{_through(proxy) or to}: {brief(error)}.{hint}", provider=call.provider)


def unusable(call: Call, response: Response, error: UnreadableContentError | OversizedContentError) -> ProviderError:
    """Return the error for a complete reply with status 200 whose body cannot be decompressed."""
    if isinstance(error, OversizedContentError):
        return _oversized(call, error)
    what = f"the reply {error}; it starts with {start_of(REDACTOR.bytes(response.body))}."
    return BadReplyError(what, provider=call.provider, status=response.status)


def _oversized(call: Call, error: Exception) -> ProviderError:
    limit = f"max_reply_bytes ({call.max_reply_bytes:,})"
    return OversizedReplyError(f"the reply is larger than {limit}: {error}.", provider=call.provider)


def refusal(call: Call, response: Response) -> ProviderError:
    """Return the error for a complete reply with a status other than 200."""
    status, proxy = response.status, call.place.proxy
    message = error_text(readable(response, call.max_reply_bytes))
    if status == 407 and proxy is not None:  # noqa: PLR2004
        offered = response.headers.get("proxy-authenticate", "").split(" ")[0]
        return _proxy_refusal(call, status, message, [REDACTOR.text(offered)] if offered else [])
    # Without a tunnel, the proxy's replies cannot be told from the service's.
    source = f" The reply came{_through(proxy)}, which may have written it." if proxy and not call.place.tls else ""
    if 300 <= status < 400:  # noqa: PLR2004
        target = REDACTOR.text(response.headers.get("location", "nowhere"))
        what = f"the service redirects to {target[:_MAX_SHOWN]}. If that is right, use it as the base_url.{source}"
        return RedirectedError(what, provider=call.provider, status=status)
    kind, sentence = _meaning(status, message)
    wait = retry_after(response.headers, time.time()) if kind.retried else None
    what = f"{sentence} ({status}): {message.rstrip('.')}.{source}"
    error = kind(what, provider=call.provider, status=status, retry_after=wait)
    error.body = readable(response, call.max_reply_bytes)
    return error


def _meaning(status: int, message: str) -> tuple[type[ProviderError], str]:  # noqa: PLR0911 - a table of cases
    if status in (402, 403, 429) and any(sign in message.lower() for sign in _NO_QUOTA):
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


def _proxy_refusal(call: Call, status: int, reason: str, logins: list[str]) -> ProviderError:
    """Return the error for a refusal by the proxy. Nothing has reached the service."""
    answer = f"({status}{f' {REDACTOR.text(reason)[:_MAX_SHOWN]}' if reason else ''})"
    if status == 407:  # noqa: PLR2004
        return _login_refusal(call, answer, logins)
    sentence = _proxy_sentence(call, f"did not connect to {call.place.host}:{call.place.port} {answer}")
    if status >= 500 or status in _TRANSIENT_OF_PROXY:  # noqa: PLR2004
        return UnavailableError(sentence, provider=call.provider, status=status)
    return HopelessError(sentence, provider=call.provider, status=status)


def _login_refusal(call: Call, answer: str, logins: list[str]) -> ProviderError:
    proxy = call.place.proxy
    assert proxy is not None  # noqa: S101 - a proxy has answered
    if logins and "basic" not in map(str.lower, logins):
        what = f"requires a login of type {' or '.join(logins)}, which is not supported"
        advice = f"Ask for Basic, or point {proxy.source} at a proxy of your own that logs in to it"
    else:
        what = "does not accept the login" if proxy.login else "requires a login"
        advice = f"Put the login into {proxy.source} as http://USER:PASSWORD@HOST:PORT"
    return ProxyLoginError(f"the proxy {proxy} {what} {answer}. {advice}.", provider=call.provider, status=407)


def _proxy_sentence(call: Call, what: str) -> str:
    proxy, host = call.place.proxy, call.place.host
    assert proxy is not None  # noqa: S101 - a proxy has failed
    without = f"set it to `{NO_PROXY}`" if proxy.source.startswith("`") else f"add {host} to NO_PROXY"
    advice = f"Check {proxy.source}, or {without} if no proxy is needed."
    return f"the proxy {proxy} {what}. {advice}"


def _through(proxy: Proxy | None) -> str:
    return f" through the proxy {proxy}" if proxy else ""


def _is_final(error: Exception) -> bool:
    """Whether TLS refused an identity, ours or the service's. In TLS 1.3 the alert may come after the handshake."""
    return isinstance(error, TlsFailedError) or "ALERT" in (getattr(error, "reason", None) or "")


def _certificate_hint(call: Call) -> str:
    """Many servers that miss a client certificate say nothing and close the connection."""
    return _CERTIFICATE_HINT if call.place.tls and call.place.files.cert is None else ""


def _tls_advice(error: Exception) -> str:
    message = str(error).lower()
    if "verify failed" in message and "mismatch" not in message:
        return " If your company signs it, set ca_file to its authority."
    if "alert" in message and any(word in message for word in ("certificate", "unknown ca", "handshake failure")):
        return _CERTIFICATE_HINT
    return ""


def error_text(data: bytes) -> str:
    """Return the message of an error reply, or the start of the body if no message is found."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return start_of(data)
    error = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(error, dict):
        parts = [error.get("message"), error.get("detail"), error.get("code"), error.get("type")]
        error = "; ".join(part for part in parts if isinstance(part, str) and part)
    return error[:_MAX_SHOWN] if isinstance(error, str) and error else start_of(data)


def start_of(data: bytes) -> str:
    text = data[:_MAX_SHOWN].decode(errors="replace")
    if text.count("\N{REPLACEMENT CHARACTER}") > len(text) / 4:  # compressed, or a picture
        return f"{len(data):,} bytes that are not text"
    return repr(text) if data else "an empty reply"


def brief(error: BaseException) -> str:
    message = " ".join(str(error).split()) or type(error).__name__
    return REDACTOR.text(message)[:_MAX_SHOWN].rstrip(".")
