"""What a run may spend, checked before each request is sent."""

from __future__ import annotations

from prompt_evaluator.errors import BudgetSpentError


class Budget:
    """A limit on requests and on money. Requests under way are reckoned with at the average price so far."""

    def __init__(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self._max_calls, self._max_cost = max_calls, max_cost
        self._sent = self._under_way = self._priced = 0
        self._cost = 0.0

    def take(self) -> None:
        """Count a request that is about to be sent; raise when it may not be."""
        if self._max_calls is not None and self._sent >= self._max_calls:
            raise BudgetSpentError(f"The budget of {self._max_calls:,} calls is used up.")
        if self._max_cost is not None and self._cost + self._expected() >= self._max_cost:
            raise BudgetSpentError(f"The budget of ${self._max_cost:,.4f} is used up: ${self._cost:,.4f} are spent.")
        self._sent += 1
        self._under_way += 1

    def pay(self, cost: float | None) -> None:
        """An answer has come, and this is what it cost, if that is known."""
        if cost is not None:
            self._cost += cost
            self._priced += 1

    def settle(self) -> None:
        """A request is over."""
        self._under_way -= 1

    def _expected(self) -> float:
        return self._under_way * self._cost / self._priced if self._priced else 0.0
