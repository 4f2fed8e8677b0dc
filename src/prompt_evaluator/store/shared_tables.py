"""Tables of what all processes of a store keep together: rate limits, budgets, and a random value of the store."""

from __future__ import annotations

from sqlalchemy import Column, Float, LargeBinary, PrimaryKeyConstraint, Table, Text

from prompt_evaluator.store.schema import METADATA

STORE_SALT = Table(
    "store_salt",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)

SHARED_LIMITS = Table(
    "shared_limits",
    METADATA,
    Column("key", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("free_at", Float, nullable=False),
    PrimaryKeyConstraint("key", "kind", name="pk_shared_limits"),
)

BUDGETS = Table(
    "budgets",
    METADATA,
    Column("period", Text, primary_key=True),
    Column("spent", Float, nullable=False),
)
