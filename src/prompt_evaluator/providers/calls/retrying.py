"""Whether and when a failed call is retried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import BadReplyError, DeadlineError, FieldRefusedError, RateLimitedError, TimedOutError
from prompt_evaluator.providers.calls.waiting import wait_before_retry

if TYPE_CHECKING:
    from random import Random

    from prompt_evaluator.errors import ProviderError
    from prompt_evaluator.model import Limits

_MOST_BAD_REPLIES = 3
"""Most tries after an unreadable reply, which may have been billed, so there are fewer than without a reply."""
_AFTER_A_TIME_OUT = 2
"""Most tries after the first one that timed out: the service may bill every one of them."""


class Retries:
    """The failed tries of one call."""

    def __init__(self, provider: str, limits: Limits, max_tries: int, rng: Random) -> None:
        self._provider, self._limits, self._most, self._rng = provider, limits, max_tries, rng
        self.time_outs = 0
        """Tries that may have been billed although no answer arrived."""

    def add(self, error: ProviderError, tries: int) -> None:
        """Count a failed try. `tries` is its number within the call, starting at 1."""
        error.tries = tries
        if isinstance(error, TimedOutError):
            self.time_outs += 1
            if self.time_outs == 1:
                self._most = min(self._most, tries + _AFTER_A_TIME_OUT)

    def wait_before_next(self, error: ProviderError, spent: float, *, nobody_is_answered: bool = False) -> float:
        """Return the seconds to wait before the next try. Raise if there is none.

        Args:
            error: Why the last try failed.
            spent: Seconds spent in all tries and the waits between them.
            nobody_is_answered: Whether other calls fail too. A 429 then does not fail this call; it is retried until
                the breaker stops the run. The run can then be resumed without failed samples to retry.
        """
        if not error.retried:
            raise error
        if isinstance(error, FieldRefusedError):
            return 0.0  # the next try sends other fields, and each variant is tried only once
        tries, asked = error.tries, error.retry_after
        most = min(self._most, _MOST_BAD_REPLIES) if isinstance(error, BadReplyError) else self._most
        if nobody_is_answered and isinstance(error, RateLimitedError) and most > 1 and not self.time_outs:
            most = tries + 1
        if asked is not None and asked > self._limits.max_retry_after:
            raise _extended(error, f"It asks to wait {asked:,.0f} s, longer than max_retry_after allows.") from error
        if tries >= most:
            raise (_extended(error, f"Given up after {tries} tries.") if tries > 1 else error) from error
        wait = wait_before_retry(tries, asked, self._limits.first_backoff, self._rng)
        if spent + wait >= self._limits.deadline:
            raise self._late(error) from error
        return wait

    def _late(self, error: ProviderError) -> DeadlineError:
        within = f"no answer within {self._limits.deadline:,.0f} s and {error.tries} tries"
        late = DeadlineError(f"{within}; the last: {sentence(error)}", provider=self._provider, status=error.status)
        late.tries = error.tries
        return late


def sentence(error: ProviderError) -> str:
    """Return an error's message without the provider's name."""
    return str(error).removeprefix(f"{error.provider}: ")


def _extended(error: ProviderError, more: str) -> ProviderError:
    longer = type(error)(
        f"{sentence(error)} {more}", provider=error.provider, status=error.status, retry_after=error.retry_after
    )
    longer.tries = error.tries
    return longer
