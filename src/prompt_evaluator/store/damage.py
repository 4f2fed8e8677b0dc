"""Looks for damage in a store that is a file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MOST = 20
"""A damaged file may have thousands of faults."""


def find_damage(connection: Connection) -> list[str]:
    """Faults of the file, or else rows that belong to nothing; none for a server."""
    if connection.dialect.name != "sqlite":
        return []
    found = [str(text) for (text,) in connection.exec_driver_sql(f"PRAGMA quick_check({_MOST})")]
    lines = [line for text in found for line in text.splitlines() if not line.startswith("*** in database")]
    if lines != ["ok"]:
        return lines
    strays = Counter((table, parent) for table, _, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"))
    return [f"rows of {table} without their row of {parent} ({count:,})" for (table, parent), count in strays.items()]
