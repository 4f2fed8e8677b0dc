"""Rate limits and budgets that all processes of a store keep together."""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, text, update

from prompt_evaluator.ports import Grant
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.database import explained
from prompt_evaluator.store.shared_tables import BUDGETS, SHARED_LIMITS, STORE_SALT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, TextClause

_HOLD = "hold"
"""The kind of the row that says until when nobody may call."""
_SALT = "keys"
_SALT_BYTES = 16
_ATTEMPTS = 8
"""To take what is left of a budget while others take it, too."""
_LEAST = 1e-9
"""US dollars; less is rounding."""
_ADD_SALT = text("INSERT INTO store_salt (name, value) VALUES (:name, :value) ON CONFLICT DO NOTHING")
_ADD_BUDGET = text("INSERT INTO budgets (period, spent) VALUES (:period, 0) ON CONFLICT DO NOTHING")


def _statements(now: str, greatest: str) -> dict[str, TextClause]:
    """Statements of one dialect. The clock is read after the row is locked, so that nobody gets a time in the past.

    Args:
        now: The database's clock, in seconds since 1970.
        greatest: The function for the larger of two numbers.
    """
    later = f"{greatest}(shared_limits.free_at, {now} + :seconds)"
    return {
        name: text(statement)
        for name, statement in {
            "reserve": f"""
                INSERT INTO shared_limits (key, kind, free_at) VALUES (:key, :kind, {now} - :slack + :seconds)
                ON CONFLICT (key, kind) DO UPDATE
                SET free_at = {greatest}(shared_limits.free_at, {now} - :slack) + :seconds
                RETURNING free_at - {now}""",  # noqa: S608 - only constants of this module
            "hold": f"""
                INSERT INTO shared_limits (key, kind, free_at) VALUES (:key, :kind, {now} + :seconds)
                ON CONFLICT (key, kind) DO UPDATE SET free_at = {later}""",  # noqa: S608
            "push": f"UPDATE shared_limits SET free_at = {later} WHERE key = :key",  # noqa: S608
            "now": f"SELECT {now}",
        }.items()
    }


_ON_SERVER = _statements("extract(epoch from clock_timestamp())", "greatest")
_ON_FILE = _statements(":now", "max")
"""SQLite's own clock has milliseconds only; all processes of a file are on one machine and have one clock."""


class LimitRows(Access):
    """Implements the ports `SharedLimits` and `SharedBudgets`: one row for each limit, changed by single statements.

    On a server every statement is a transaction of its own, so that a client that is stopped in between locks nothing.
    """

    def salt(self) -> bytes:
        """A random value of this store."""
        with self._at_once() as connection:
            connection.execute(_ADD_SALT, {"name": _SALT, "value": secrets.token_bytes(_SALT_BYTES)})
            found: bytes = connection.scalars(select(STORE_SALT.c.value).where(STORE_SALT.c.name == _SALT)).one()
        return bytes(found)

    def reserve(self, key: str, kind: str, seconds: float, slack: float) -> float:
        """Take the next `seconds` of a limit's time; return in how many seconds they begin."""
        given = {"key": key, "kind": kind, "seconds": seconds, "slack": slack}
        with self._at_once() as connection:
            ends_in = connection.scalars(self._statement(connection, "reserve"), self._now(connection, given)).one()
        return float(ends_in) - seconds

    def hold(self, key: str, seconds: float) -> None:
        """Let nobody call with this key for so long."""
        given: dict[str, Any] = {"key": key, "kind": _HOLD, "seconds": seconds}
        with self._at_once() as connection:
            connection.execute(self._statement(connection, "hold"), self._now(connection, given))
            del given["kind"]
            connection.execute(self._statement(connection, "push"), self._now(connection, given))

    def held(self, keys: Sequence[str]) -> dict[str, float]:
        """For how many seconds more nobody may call, by key; only keys that are held."""
        held = select(SHARED_LIMITS.c.key, SHARED_LIMITS.c.free_at)
        wanted = held.where(SHARED_LIMITS.c.kind == _HOLD, SHARED_LIMITS.c.key.in_(keys))
        with self._read() as connection:
            rows = connection.execute(wanted).all()
            now = connection.scalar(self._statement(connection, "now"), self._now(connection, {})) if rows else 0.0
        return {key: until - float(now or 0.0) for key, until in rows if until > float(now or 0.0)}

    def spend(self, period: str, amount: float, most: float) -> Grant:
        """Take up to `amount` of what is left of a budget."""
        taken = BUDGETS.c.spent + amount
        for _ in range(_ATTEMPTS):
            with self._at_once() as connection:
                connection.execute(_ADD_BUDGET, {"period": period})
                of_period = BUDGETS.c.period == period
                fits = update(BUDGETS).where(of_period, taken <= most + _LEAST).values(spent=taken)
                spent = connection.scalar(fits.returning(BUDGETS.c.spent))
                if spent is not None:
                    return Grant(amount, spent)
                spent = connection.scalars(select(BUDGETS.c.spent).where(of_period)).one()
            if most - spent <= _LEAST:
                return Grant(0.0, spent)
            amount = min(amount, most - spent)  # what is left, unless somebody else takes it first
            taken = BUDGETS.c.spent + amount
        return Grant(0.0, spent)

    def correct_spending(self, period: str, difference: float) -> None:
        """Add to what was spent, or take back what was reserved and not spent."""
        with self._at_once() as connection:
            changed = update(BUDGETS).where(BUDGETS.c.period == period)
            connection.execute(changed.values(spent=BUDGETS.c.spent + difference))

    def spending(self, period: str) -> float:
        """What was spent of a budget or is reserved."""
        with self._read() as connection:
            return connection.scalar(select(BUDGETS.c.spent).where(BUDGETS.c.period == period)) or 0.0

    @contextmanager
    def _at_once(self) -> Iterator[Connection]:
        """A connection whose statements are committed one by one; on a file, together."""
        if self._reading.dialect.name == "sqlite":
            with self._write() as connection:
                yield connection
            return
        with explained(self._database.where), self._reading.connect() as pooled:
            yield pooled.execution_options(isolation_level="AUTOCOMMIT")

    @staticmethod
    def _statement(connection: Connection, name: str) -> TextClause:
        return (_ON_FILE if connection.dialect.name == "sqlite" else _ON_SERVER)[name]

    @staticmethod
    def _now(connection: Connection, given: dict[str, Any]) -> dict[str, Any]:
        """Add the time for SQLite; the transaction has begun, so nobody else writes until it ends."""
        return given | {"now": time.time()} if connection.dialect.name == "sqlite" else given
