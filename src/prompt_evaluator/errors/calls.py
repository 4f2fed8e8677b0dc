"""Calls that gave no answer."""

from __future__ import annotations

from typing import Any, ClassVar

from prompt_evaluator.errors.base import PromptEvaluatorError


class ProviderError(PromptEvaluatorError):
    """A call gave no answer. Never treat this as a bad answer."""

    exit_code: ClassVar[int] = 3
    retried: ClassVar[bool] = False
    """Whether the same request may succeed a little later."""
    hopeless: ClassVar[bool] = False
    """Whether every other call would fail the same way."""
    usage: Any = None
    """The `Usage` that a reply states although it holds no answer: the service bills it. None if there is none."""
    body: bytes = b""
    """The service's reply, for a provider to look into. Never shown, logged or stored."""

    def __init__(
        self,
        message: str,
        *,
        provider: str,
        status: int | None = None,
        retry_after: float | None = None,
        usage: Any = None,
    ) -> None:
        """Prefix the message with the provider's name.

        Args:
            message: A full sentence.
            provider: The provider's name.
            status: The HTTP status, if there was one.
            retry_after: Seconds the service asked us to wait.
            usage: A `Usage`: what the service counted, and may have billed, although there is no answer.
        """
        self.provider, self.status, self.retry_after, self.usage = provider, status, retry_after, usage
        self.tries = 1
        super().__init__(f"{provider}: {message}")


class RateLimitedError(ProviderError):
    """Too many requests or tokens for now."""

    retried = True


class UnavailableError(ProviderError):
    """The service is down or overloaded."""

    retried = True


class ConnectionFailedError(ProviderError):
    """No connection could be made, or it broke."""

    retried = True


class UnreachableError(ConnectionFailedError):
    """No connection could be made: the address is wrong, or nobody is there. Nothing was sent."""

    advice: ClassVar[str] = (
        "Check that the service is running and that its address is right "
        "(`prompt-evaluator list providers` lists addresses)."
    )
    """What to do, if the message does not say it already."""


class ProxyUnreachableError(UnreachableError):
    """The proxy cannot be reached, or gave no connection to the service. Nothing was sent."""

    advice = ""


class TimedOutError(ProviderError):
    """One try took too long."""

    retried = True


class BadReplyError(ProviderError):
    """The reply is malformed or incomplete."""

    retried = True


class OversizedReplyError(BadReplyError):
    """The reply has more bytes than allowed, before or after decompression."""

    retried = False


class RedirectedError(BadReplyError):
    """The service redirected to another address, which must not receive the key."""

    retried = False


class DeadlineError(ProviderError):
    """The call, with all its tries and waits, took too long."""


class RequestRefusedError(ProviderError):
    """The service rejected the request."""


class FieldRefusedError(RequestRefusedError):
    """The service does not accept one field of the request; the next try omits it."""

    retried = True


class JudgeRefusedError(ProviderError):
    """The judge declined to judge, or a content filter stopped it. It was paid for, and is not asked again."""


class TargetFailedError(RequestRefusedError):
    """The program or function under test failed."""


class HopelessError(ProviderError):
    """Every other call would fail as well."""

    hopeless = True


class AuthenticationError(HopelessError):
    """The key is missing, wrong or lacks permission."""


class ProxyLoginError(HopelessError):
    """The proxy requires a login, or did not accept it. The service was not asked."""


class ModelNotFoundError(HopelessError):
    """No such model, or nothing at this address."""


class QuotaExhaustedError(HopelessError):
    """The account is out of money or over its quota."""


class CircuitOpenError(HopelessError):
    """Calls have stopped because all of them failed."""
