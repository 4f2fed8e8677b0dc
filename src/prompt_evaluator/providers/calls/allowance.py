"""What this process may spend of budgets that it shares with others, taken from the store in blocks."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from prompt_evaluator.errors import BudgetSpentError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.ports import SharedBudgets
    from prompt_evaluator.providers.calls.shared_key import StoreThread

Span = Literal["day", "month"]

_SHARE = 200
"""A block is this part of the smallest budget: what a process that is killed may leave reserved and unspent."""
_LEAST = 1e-9
"""US dollars; less is rounding."""
_TIMES = 10
"""How often a store that cannot be reached is asked again."""
_NAMES: dict[Span, str] = {"day": "day %Y-%m-%d", "month": "month %Y-%m"}
_NEXT: dict[Span, str] = {"day": "at 00:00 UTC", "month": "on the first of the month, at 00:00 UTC"}


class _Taken(NamedTuple):
    amount: float
    periods: tuple[str, ...]
    """From which it was taken; empty if nothing was."""
    refusal: str | None = None


class Allowance:
    """Budgets of a day and of a month, in US dollars, and how much of them this process has reserved."""

    def __init__(
        self,
        most: Mapping[Span, float],
        budgets: Callable[[], SharedBudgets],
        thread: Callable[[], StoreThread],
        today: Callable[[], datetime] = lambda: datetime.now(UTC),
        patience: float = 10.0,
    ) -> None:
        """Reserve nothing yet.

        Args:
            most: The budgets.
            budgets: Returns the store that keeps them.
            thread: Returns the thread that asks it.
            today: Returns the time.
            patience: Seconds for which calls wait for a store that cannot be reached.
        """
        self._most, self._budgets, self._thread, self._today = most, budgets, thread, today
        self._patience = patience
        self._block = min(most.values()) / _SHARE
        self._periods: tuple[str, ...] = ()
        self._asking = self._returning = False
        self._refused = 0.0
        """What was asked for last."""
        self._unanswered: float | None = None
        self.granted = 0.0
        """US dollars since the start, spent or not."""
        self.refusal: PromptEvaluatorError | None = None
        """Why there will be no more."""
        self.changed: Callable[[], None] = lambda: None
        self.spent: Callable[[], float | None] = lambda: 0.0
        """Returns what this process has spent since the start, or None while calls are in flight."""

    def covers(self, total: float) -> bool:
        """Whether this may be spent in all since the start. Asks for more if it is not, or soon will not be.

        What was refused is asked for again only if less is needed: calls may cost less than expected.
        """
        left = self.granted - total
        if self.refusal is not None and -left < self._refused - _LEAST:
            self.refusal = None
        if not self._asking and self.refusal is None:
            if left < self._block / 2 and (total or left < 0):
                self._ask(max(0.0, -left))
            elif left > 2 * self._block:
                self._correct(self._block - left)
        return left >= -_LEAST

    def check(self) -> None:
        """Raise an error if a budget is used up. Waits for the store."""
        budgets, today = self._budgets(), self._today()
        for span, most in self._most.items():
            if (spent := budgets.spending(today.strftime(_NAMES[span]))) >= most - _LEAST:
                raise BudgetSpentError(_used_up(span, most, spent, 0.0))

    def release(self) -> None:
        """Return what is reserved and not spent, unless calls are in flight. Tell if more was spent than reserved."""
        if self._asking:
            self._returning = True
        elif (spent := self.spent()) is not None:
            self._correct(spent - self.granted)

    def _correct(self, difference: float) -> None:
        self.granted += difference
        budgets, periods = self._budgets(), self._periods
        if abs(difference) > _LEAST:
            self._thread().tell(lambda: _correct(budgets, periods, difference))

    def _ask(self, wanted: float) -> None:
        self._asking, self._refused = True, wanted
        self._unanswered = self._unanswered or time.monotonic()
        budgets, today = self._budgets(), self._today()
        self._thread().ask(lambda: self._take(budgets, today, wanted), self._answered)

    def _answered(self, taken: _Taken | StoreError) -> None:
        if isinstance(taken, StoreError):
            if time.monotonic() - (self._unanswered or 0.0) < self._patience:
                asyncio.get_running_loop().call_later(self._patience / _TIMES, self._try_again)
                return
            self.refusal = taken
        else:
            self._unanswered = None
            self.granted += taken.amount
            self._periods = taken.periods or self._periods
            self.refusal = BudgetSpentError(taken.refusal) if taken.refusal else None
        self._try_again()

    def _try_again(self) -> None:
        self._asking = False
        self.changed()
        if self._returning:
            self._returning = False
            self.release()

    def _take(self, budgets: SharedBudgets, today: datetime, wanted: float) -> _Taken:
        """Take a block, or what is left of one if that is enough; nothing otherwise. In the store's thread."""
        amount = wanted + self._block
        taken: list[str] = []
        for span, most in self._most.items():
            period = today.strftime(_NAMES[span])
            got, spent = budgets.spend(period, amount, most)
            _correct(budgets, taken, got - amount)
            taken.append(period)
            amount = got
            if amount < max(wanted, _LEAST) - _LEAST:
                _correct(budgets, taken, -amount)
                return _Taken(0.0, (), _used_up(span, most, spent - amount, wanted))
        return _Taken(amount, tuple(taken))


def _correct(budgets: SharedBudgets, periods: list[str] | tuple[str, ...], difference: float) -> None:
    for period in periods if difference else ():
        budgets.correct_spending(period, difference)


def _used_up(span: Span, most: float, spent: float, wanted: float) -> str:
    needed = f", and this run needs about ${wanted:,.4f} for the next calls" if wanted else ""
    return (
        f"The budget of ${most:,.2f} per {span} for all runs is used up: ${spent:,.4f} has been spent, or reserved by "
        f"runs in progress{needed}. The next {span} begins {_NEXT[span]}; to go on before, raise `max_cost_per_{span}`."
    )
