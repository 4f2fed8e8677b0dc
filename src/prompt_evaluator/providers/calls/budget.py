"""What may be spent, checked before each request is sent."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prompt_evaluator.errors import BudgetSpentError

if TYPE_CHECKING:
    from collections.abc import Hashable

_ROUNDING = 1e-9
"""Ten times ten cents are a dollar, though not in binary."""


@dataclass(slots=True)
class _Kind:
    """Requests that cost about the same: a judgement costs another sum than an answer."""

    under_way: int = 0
    priced: int = 0
    cost: float = 0.0
    guess: float = 0.0

    @property
    def each(self) -> float:
        return self.cost / self.priced if self.priced else self.guess


class Budget:
    """A limit on requests and on money. Requests under way, and the next, are reckoned with at their kind's average."""

    def __init__(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self._max_calls, self._max_cost = max_calls, max_cost
        self._sent = self._under_way = 0
        self._kinds: defaultdict[Hashable, _Kind] = defaultdict(_Kind)
        self._settled = asyncio.Event()

    @property
    def limits_cost(self) -> bool:
        return self._max_cost is not None

    def try_take(self, kind: Hashable = None, guess: float = 0.0) -> bool:
        """Whether a request may be sent now; if so, it counts as sent. Not while those under way may cost the rest.

        Args:
            kind: Which requests cost about as much as this one.
            guess: What it may cost, for as long as no answer of its kind has told.

        Raises:
            BudgetSpentError: It may not be sent, now or later.
        """
        if self._max_calls is not None and self._sent >= self._max_calls:
            calls = "1 call" if self._max_calls == 1 else f"{self._max_calls:,} calls"
            raise BudgetSpentError(f"The budget of {calls} is used up.")
        if self._max_cost is not None and not self._affords(self._kinds[kind], guess, self._max_cost):
            return False
        self._sent += 1
        self._under_way += 1
        self._kinds[kind].under_way += 1
        return True

    async def take(self, kind: Hashable = None, guess: float = 0.0) -> None:
        """Wait until a request may be sent, and count it; raise as `try_take` does."""
        while not self.try_take(kind, guess):
            self._settled.clear()
            await self._settled.wait()

    def pay(self, kind: Hashable, cost: float | None) -> None:
        """An answer has come, and this is what it cost, if that is known."""
        if cost is not None:
            self._kinds[kind].cost += cost
            self._kinds[kind].priced += 1

    def settle(self, kind: Hashable = None) -> None:
        """A request is over."""
        self._under_way -= 1
        self._kinds[kind].under_way -= 1
        self._settled.set()

    def _affords(self, next_one: _Kind, guess: float, most: float) -> bool:
        next_one.guess = max(next_one.guess, guess)
        spent = sum(kind.cost for kind in self._kinds.values())
        expected = sum(kind.under_way * kind.each for kind in self._kinds.values())
        if spent + expected + next_one.each <= most + _ROUNDING:
            return True
        if self._under_way:
            return False
        raise BudgetSpentError(
            f"The budget of ${most:,.4f} allows no further call: ${spent:,.4f} are spent, and the next costs about "
            f"${next_one.each:,.4f}."
        )
