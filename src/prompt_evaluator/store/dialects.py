"""SQL that differs between SQLite and PostgreSQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, Float, Text, cast, collate, func, select

from prompt_evaluator.store.texts import storable

if TYPE_CHECKING:
    import sqlite3

    from sqlalchemy import ColumnElement, Connection

_FUNCTION = "text_contains"


def add_functions(connection: sqlite3.Connection) -> None:
    """Register a text search for SQLite, whose LIKE ignores case for ASCII letters only."""
    connection.create_function(_FUNCTION, 2, _text_contains, deterministic=True)


def contains(connection: Connection, column: ColumnElement[Any], part: str) -> ColumnElement[bool]:
    """Whether a text contains `part`, ignoring case."""
    if connection.dialect.name == "sqlite":
        found: ColumnElement[bool] = getattr(func, _FUNCTION)(column, storable(part).casefold()) == 1
        return found
    if part.isascii():
        return column.icontains(storable(part), autoescape=True)
    return column.regexp_match("".join(map(_either_case, storable(part))))


def ordered(connection: Connection, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Sort a text by code point, whatever the server's locale."""
    return column if connection.dialect.name == "sqlite" else collate(column, "C")


def entry(
    connection: Connection, column: ColumnElement[Any], key: str, *, inside: str | None = None, part: str | None = None
) -> ColumnElement[Any]:
    """Extract a value from a JSON mapping.

    Args:
        connection: Determines the dialect.
        column: The JSON column.
        key: Key in the mapping.
        inside: Key of the mapping in the column, if it is nested.
        part: Key in the value, to extract only part of it.
    """
    if connection.dialect.name == "sqlite":
        place = (column, f"$.{inside}") if inside else (column,)
        each = func.json_each(*place).table_valued("key", "value")
        value = func.json_extract(each.c.value, f"$.{part}") if part else each.c.value
        return select(value).where(each.c.key == storable(key)).scalar_subquery()
    path = [step for step in (inside, storable(key), part) if step is not None]
    return func.json_extract_path_text(cast(column, JSON), *(cast(step, Text) for step in path))


def as_number(connection: Connection, value: ColumnElement[Any]) -> ColumnElement[Any]:
    return value if connection.dialect.name == "sqlite" else cast(value, Float)


def _either_case(character: str) -> str:
    """Return a pattern for a letter in both cases: a server with the C locale folds ASCII letters only."""
    if not character.isalnum():
        return re.escape(character)
    both = {character, character.lower(), character.upper()}
    return f"[{''.join(sorted(form for form in both if len(form) == 1))}]"


def _text_contains(text: str | None, part: str) -> bool:
    return text is not None and part in text.casefold()
