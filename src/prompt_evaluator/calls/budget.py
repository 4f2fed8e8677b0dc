"""Limits on calls and cost, checked before each sample starts and before each request is sent."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from prompt_evaluator.calls.stop import plain_wait
from prompt_evaluator.errors import BudgetSpentError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from prompt_evaluator.calls.stop import Wait

_ROUNDING = 1e-9
"""Ten times $0.10 is not exactly a dollar in binary floating point."""
_FEW = 4
"""How many samples may be in progress before the cost of one is known."""


@dataclass(slots=True)
class _Kind:
    """Requests that cost about the same: answers and judgements differ in cost."""

    in_flight: int = 0
    priced: int = 0
    cost: float = 0.0
    guess: float = 0.0

    @property
    def each(self) -> float:
        return self.cost / self.priced if self.priced else self.guess


@dataclass(slots=True)
class _Sample:
    """A sample in progress."""

    budget: Budget
    expected: int
    """Calls reserved for it."""
    sent: int = 0
    cost: float = 0.0


_SAMPLE: ContextVar[_Sample | None] = ContextVar("sample", default=None)
"""The sample that the current task works on; its calls use what was reserved for it."""


class Budget:
    """A limit on the number of requests and on their cost.

    A request in flight, and the next one, is assumed to cost the average of its kind.

    A sample starts only if its calls fit in addition to those reserved for samples in progress, so every sample that
    starts can be finished. Retries and attempts beyond the expected calls use what is not reserved.
    """

    def __init__(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self._max_calls, self._max_cost = max_calls, max_cost
        self._sent = self._in_flight = self._reserved = 0
        self._kinds: defaultdict[Hashable, _Kind] = defaultdict(_Kind)
        self._samples = self._ended = self._ended_calls = 0
        self._samples_cost = self._ended_cost = self._unconfirmed = 0.0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def limits(self) -> Literal["calls", "cost"] | None:
        """What it limits; `cost` if both."""
        if self._max_cost is not None:
            return "cost"
        return None if self._max_calls is None else "calls"

    def try_take(self, kind: Hashable = None, guess: float = 0.0) -> bool:
        """Return whether a request may be sent now; if so, it counts as sent.

        It may not be sent as long as the requests in flight could use up the budget.

        Args:
            kind: Requests of the same kind cost about the same.
            guess: The assumed cost until an answer of this kind has a known cost.

        Raises:
            BudgetSpentError: It may not be sent now or later.
        """
        sample = self._sample()
        if self._max_calls is not None and not self._has_call_left(sample, self._max_calls):
            return False
        if self._max_cost is not None and not self._affords(self._kinds[kind], guess, self._max_cost):
            return False
        self._sent += 1
        self._in_flight += 1
        self._kinds[kind].in_flight += 1
        if sample is not None:
            self._reserved -= sample.sent < sample.expected
            sample.sent += 1
        return True

    async def take(self, kind: Hashable = None, guess: float = 0.0, wait: Wait = plain_wait) -> None:
        """Wait until a request may be sent, and count it; raise as `try_take` does."""
        while not self.try_take(kind, guess):
            await wait(self._next_change())

    def give_back(self, kind: Hashable = None) -> None:
        """Undo `take` for a request that was not sent."""
        self._sent -= 1
        if (sample := self._sample()) is not None:
            sample.sent -= 1
            self._reserved += sample.sent < sample.expected
        self.settle(kind)

    def pay(self, kind: Hashable, cost: float | None) -> None:
        """Add the cost of a request that was answered or billed, if known."""
        if cost is not None:
            self._kinds[kind].cost += cost
            self._kinds[kind].priced += 1
            if (sample := self._sample()) is not None:
                sample.cost += cost
                self._samples_cost += cost

    def may_have_paid(self, kind: Hashable) -> None:
        """Add the average cost of its kind for a request that timed out: the service may have billed it."""
        each = self._kinds[kind].each
        self._unconfirmed += each
        if (sample := self._sample()) is not None:
            sample.cost += each
            self._samples_cost += each

    def settle(self, kind: Hashable = None) -> None:
        """Note that a request has ended."""
        self._in_flight -= 1
        self._kinds[kind].in_flight -= 1
        self._changed()

    def try_start_sample(self, calls: int) -> bool:
        """Return whether a sample may start now; if so, reserve its calls for the current task.

        Args:
            calls: How many calls it is expected to make; 0 if it makes none. If finished samples made more on average,
                their average is reserved.

        Raises:
            BudgetSpentError: It may not start now or later.
        """
        if self.limits is None:
            return True
        if calls and self._ended:
            calls = max(calls, math.ceil(self._ended_calls / self._ended))
        if calls and self._max_calls is not None and not self._has_calls_left(calls, self._max_calls):
            return False
        if calls and self._max_cost is not None and not self._affords_sample(calls, self._max_cost):
            return False
        self._samples += 1
        self._reserved += calls
        _SAMPLE.set(_Sample(self, calls))
        return True

    async def start_sample(self, calls: int, wait: Wait = plain_wait) -> None:
        """Wait until a sample may start; raise as `try_start_sample` does."""
        while not self.try_start_sample(calls):
            await wait(self._next_change())

    def end_sample(self) -> None:
        """End the current task's sample, successful or not, and release the calls it did not use."""
        if (sample := self._sample()) is None:
            return
        _SAMPLE.set(None)
        self._samples -= 1
        self._samples_cost -= sample.cost
        self._reserved -= max(0, sample.expected - sample.sent)
        if sample.sent:
            self._ended += 1
            self._ended_calls += sample.sent
            self._ended_cost += sample.cost
        self._changed()

    def _sample(self) -> _Sample | None:
        sample = _SAMPLE.get()
        return sample if sample is not None and sample.budget is self else None

    def _has_call_left(self, sample: _Sample | None, most: int) -> bool:
        if self._sent >= most:
            raise BudgetSpentError(f"The budget of {_calls(most)} is used up.")
        if sample is not None and sample.sent < sample.expected:
            return True
        # Use calls reserved for other samples only if no request in flight could release any.
        return self._sent + self._reserved < most or not self._in_flight

    def _has_calls_left(self, calls: int, most: int) -> bool:
        if self._sent + self._reserved + calls <= most:
            return True
        if self._samples:
            return False
        if self._sent >= most:
            raise BudgetSpentError(f"The budget of {_calls(most)} is used up.")
        raise BudgetSpentError(
            f"The budget of {_calls(most)} allows no further sample: {self._sent:,} are used, and the next takes about "
            f"{calls:,}."
        )

    def _affords(self, next_one: _Kind, guess: float, most: float) -> bool:
        next_one.guess = max(next_one.guess, guess)
        expected = sum(kind.in_flight * kind.each for kind in self._kinds.values())
        if self._spent() + expected + next_one.each <= most + _ROUNDING:
            return True
        if self._in_flight:
            return False
        raise self._too_expensive("call", next_one.each, most)

    def _affords_sample(self, calls: int, most: float) -> bool:
        if not self._ended and self._samples >= _FEW:
            return False
        each = self._sample_cost(calls)
        expected = max(0.0, self._samples * each - self._samples_cost)
        if self._spent() + expected + each <= most + _ROUNDING:
            return True
        if self._samples:
            return False
        raise self._too_expensive("sample", each, most)

    def _too_expensive(self, what: str, each: float, most: float) -> BudgetSpentError:
        late = f" (including up to ${self._unconfirmed:,.4f} on tries that timed out)" if self._unconfirmed else ""
        return BudgetSpentError(
            f"The budget of ${most:,.4f} allows no further {what}: ${self._spent():,.4f} has been spent{late}, and the "
            f"next costs about ${each:,.4f}."
        )

    def _sample_cost(self, calls: int) -> float:
        """Average cost of ended samples; until the first one ends, the calls at the price of the dearest kind."""
        if self._ended:
            return self._ended_cost / self._ended
        return calls * max((kind.each for kind in self._kinds.values()), default=0.0)

    def _spent(self) -> float:
        """Return the cost of answers plus the assumed cost of requests that timed out."""
        return sum(kind.cost for kind in self._kinds.values()) + self._unconfirmed

    def _next_change(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def _changed(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"
