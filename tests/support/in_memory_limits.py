"""Shared limits and budgets as a store keeps them, in memory: for several processes that are in one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prompt_evaluator.errors import StoreError
from prompt_evaluator.ports import Grant

if TYPE_CHECKING:
    from collections.abc import Sequence


class InMemoryLimits:
    """May be told to fail."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, str], float] = {}
        self.holds: dict[str, float] = {}
        self.budgets: dict[str, float] = {}
        self.asked = 0
        self.fails = False

    def salt(self) -> bytes:
        return b"salt"

    def reserve(self, key: str, kind: str, seconds: float, slack: float) -> float:
        self._count()
        now = time.monotonic()
        begins = max(self.lines.get((key, kind), 0.0), self.holds.get(key, 0.0), now - slack)
        self.lines[key, kind] = begins + seconds
        return begins - now

    def hold(self, key: str, seconds: float) -> None:
        self._count()
        self.holds[key] = time.monotonic() + seconds

    def held(self, keys: Sequence[str]) -> dict[str, float]:
        self._count()
        now = time.monotonic()
        return {key: until - now for key in keys if (until := self.holds.get(key, 0.0)) > now}

    def spend(self, period: str, amount: float, most: float) -> Grant:
        self._count()
        spent = self.budgets.get(period, 0.0)
        given = max(0.0, min(amount, most - spent))
        self.budgets[period] = spent + given
        return Grant(given, spent + given)

    def correct_spending(self, period: str, difference: float) -> None:
        self._count()
        self.budgets[period] += difference

    def spending(self, period: str) -> float:
        self._count()
        return self.budgets.get(period, 0.0)

    def _count(self) -> None:
        self.asked += 1
        if self.fails:
            raise StoreError("The store cannot be used.")
