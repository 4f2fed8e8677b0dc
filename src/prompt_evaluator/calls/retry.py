"""Whether and when a failed call is retried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import BadReplyError, DeadlineError, FieldRefusedError, RateLimitedError, TimedOutError

if TYPE_CHECKING:
    from random import Random

    from prompt_evaluator.errors import ProviderError
    from prompt_evaluator.model import Limits

_MOST_BAD_REPLIES = 3
"""Most tries after an unreadable reply, which may have been billed, so there are fewer than without a reply."""
_AFTER_A_TIME_OUT = 2
"""Most tries after the first one that timed out: the service may bill every one of them."""
_LONGEST_BACKOFF = 30.0
_MOST_DOUBLED = 3
"""Tries after which waits do not double any more if the governor holds calls back anyway."""


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

    def wait_before_next(self, error: ProviderError, spent: float, *, others_are_refused: bool = False) -> float:
        """Return the seconds to wait before the next try. Raise if there is none.

        Args:
            error: Why the last try failed.
            spent: Seconds spent in all tries and the waits between them.
            others_are_refused: Whether many calls get a 429. It then does not use up the tries of this one.
        """
        if not error.retried:
            raise error
        if isinstance(error, FieldRefusedError):
            return 0.0  # the next try sends other fields, and each variant is tried only once
        tries, asked = error.tries, error.retry_after
        most = min(self._most, _MOST_BAD_REPLIES) if isinstance(error, BadReplyError) else self._most
        free = others_are_refused and isinstance(error, RateLimitedError) and most > 1 and not self.time_outs
        if asked is not None and asked > self._limits.max_retry_after:
            raise _extended(error, f"It asks to wait {asked:,.0f} s, longer than max_retry_after allows.") from error
        if tries >= most and not free:
            raise (_extended(error, f"Given up after {tries} tries.") if tries > 1 else error) from error
        doubled = min(tries, _MOST_DOUBLED) if free else tries
        wait = wait_before_retry(doubled, asked, self._limits.first_backoff, self._rng)
        if spent + wait >= self._limits.deadline:
            raise self._late(error) from error
        return wait

    def _late(self, error: ProviderError) -> DeadlineError:
        within = f"no answer within {self._limits.deadline:,.0f} s and {error.tries} tries"
        late = DeadlineError(f"{within}; the last: {sentence(error)}", provider=self._provider, status=error.status)
        late.tries = error.tries
        return late


def wait_before_retry(tries: int, asked: float | None, first_backoff: float, rng: Random) -> float:
    """Return the seconds to wait: at least `asked`, plus jitter so that many callers do not return at the same moment.

    If `asked` is 0, as for a date in the past, the backoff is used.
    """
    if asked:
        return asked + rng.uniform(0, min(1.0, 0.05 + asked * 0.05))
    backoff: float = min(_LONGEST_BACKOFF, first_backoff * 2 ** (tries - 1))
    return backoff * rng.uniform(1, 1.5)


def sentence(error: ProviderError) -> str:
    """Return an error's message without the provider's name."""
    return str(error).removeprefix(f"{error.provider}: ")


def _extended(error: ProviderError, more: str) -> ProviderError:
    longer = type(error)(
        f"{sentence(error)} {more}", provider=error.provider, status=error.status, retry_after=error.retry_after
    )
    longer.tries = error.tries
    return longer
