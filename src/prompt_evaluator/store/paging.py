"""Keyset pagination: a cursor holds the last row returned, so pages stay consistent while rows are added."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import and_, or_

from prompt_evaluator.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

LONGEST = 2**31 - 1
"""Maximum page size, supported by every database."""
_TYPES: dict[str, type | tuple[type, ...]] = {"text": str, "number": (int, float), "yes or no": int}


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The end of a page."""

    sort: str
    descending: bool
    value: str | bool | int | float | None
    key: str | int


def written(cursor: Cursor) -> str:
    return urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def read_cursor(text: str | None, *, sort: str, descending: bool, kind: str, key: type) -> Cursor | None:
    """Parse a cursor; raise ConfigurationError unless it belongs to a list in this order."""
    if text is None:
        return None
    try:
        data = urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
        cursor = msgspec.json.decode(data, type=Cursor)
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        raise _refused(text) from error
    fits = (cursor.sort, cursor.descending) == (sort, descending) and type(cursor.key) is key
    if not fits or not (cursor.value is None or isinstance(cursor.value, _TYPES[kind])):
        raise _refused(text)
    return cursor


def check_limit(limit: int) -> None:
    if not 1 <= limit <= LONGEST:
        raise ConfigurationError(f"A page cannot have {limit} entries. Ask for at least 1 and at most {LONGEST}.")


def after(
    value: ColumnElement[Any], key: ColumnElement[Any], cursor: Cursor | None, *, descending: bool, key_descending: bool
) -> list[ColumnElement[bool]]:
    """Conditions for the rows after the cursor. Rows without a value come last, in either direction."""
    if cursor is None:
        return []
    behind = key < cursor.key if key_descending else key > cursor.key
    if cursor.value is None:
        return [and_(value.is_(None), behind)]
    further = value < cursor.value if descending else value > cursor.value
    return [or_(further, and_(value == cursor.value, behind), value.is_(None))]


def _refused(text: str) -> ConfigurationError:
    shown = text if len(text) <= 40 else text[:39] + "…"  # noqa: PLR2004 - one line
    return ConfigurationError(f"The cursor {shown!r} does not belong to this list. Start again without it.")
