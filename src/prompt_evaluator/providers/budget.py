"""What may be spent, checked before each request is sent."""

from __future__ import annotations

from prompt_evaluator.errors import BudgetSpentError

_ROUNDING = 1e-9
"""Ten times ten cents are a dollar, though not in binary."""


class Budget:
    """A limit on requests and on money. Requests under way, and the next, are reckoned with at the average price."""

    def __init__(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self._max_calls, self._max_cost = max_calls, max_cost
        self._sent = self._under_way = self._priced = 0
        self._cost = 0.0

    @property
    def limits_cost(self) -> bool:
        return self._max_cost is not None

    def take(self, guess: float = 0.0) -> None:
        """Count a request that is about to be sent; raise when it may not be.

        Args:
            guess: What it may cost, for as long as no answer has told.
        """
        if self._max_calls is not None and self._sent >= self._max_calls:
            raise BudgetSpentError(f"The budget of {self._max_calls:,} calls is used up.")
        if self._max_cost is not None:
            each = self._cost / self._priced if self._priced else guess
            taken = self._cost + self._under_way * each
            if taken + each > self._max_cost + _ROUNDING:
                raise BudgetSpentError(
                    f"The budget of ${self._max_cost:,.4f} allows no further call: ${taken:,.4f} are spent or under "
                    f"way, and a call costs about ${each:,.4f}."
                )
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
