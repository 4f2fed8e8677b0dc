"""Checks of a case's fields that all dialects share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prompt_evaluator.datasets.positions import Position
from prompt_evaluator.syntax.source import absolute
from prompt_evaluator.syntax.wording import described, text_instead

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.datasets.positions import Report
    from prompt_evaluator.syntax.document import Document

MAX_ID = 1_000
"""Most characters of an id, which appears in reports, addresses and commands."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NOTHING_WRONG = object()
_SEVERAL = {"input": "`messages` is for a conversation", "reference": "`references` is for several good answers"}
"""Advice for a list where a text is expected."""


def is_id(value: str) -> bool:
    return not _wrong_with_id(value)


def written_id(record: dict[str, Any]) -> str | None:
    """Return the record's id if it is valid, even if other fields are not."""
    value = record.get("id")
    return value if type(value) is str and is_id(value) else None


def check_id(record: dict[str, Any], where: Position, report: Report) -> bool:
    if record.get("id") is None:
        report(where.missing("id", "Give the case a unique id."))
    elif type(value := record["id"]) is not str:
        report(where.invalid("id", f"it is {described(value)}, not a text", f"{text_instead(value)}."))
    elif why := _wrong_with_id(value):
        report(where.invalid("id", why, "Give the case a short, readable, unique id."))
    else:
        return True
    return False


def check_text(name: str, record: dict[str, Any], where: Position, report: Report) -> bool:
    """Check a required, non-blank text; null counts as missing."""
    if record.get(name) is None:
        report(where.missing(name, f"Add {name}, a non-empty text."))
    elif type(value := record[name]) is not str:
        report(where.invalid(name, f"it is {described(value)}, not a text", f"{_instead(name, value)}."))
    elif not value.strip():
        why = "it is blank" if value else "it is empty"
        report(where.invalid(name, why, f"Fill in {name}, or remove the case."))
    else:
        return True
    return False


def check_optional_text(name: str, record: dict[str, Any], where: Position, report: Report) -> bool:
    value = record.get(name)
    if value is None or type(value) is str:
        return True
    advice = f"{_instead(name, value)}, or leave it out."
    report(where.invalid(name, f"it is {described(value)}, not a text", advice))
    return False


def check_texts(
    name: str, record: dict[str, Any], where: Position, report: Report, *, alternatives: bool = False
) -> bool:
    """Check an optional list of non-blank texts; with `alternatives`, an item may also be a list of such texts."""
    value = record.get(name)
    if value is None:
        return True
    if type(value) is not list:
        report(where.invalid(name, f"it is {described(value)}, not a list", "Write a list of texts."))
        return False
    for position, item in enumerate(value):
        if why := _wrong_with_item(item, alternatives=alternatives):
            report(where.invalid(name, f"item {position} {why}", "Correct or remove the item."))
            return False
    return True


def _wrong_with_item(item: object, *, alternatives: bool) -> str:
    if alternatives and type(item) is list:
        if not item:
            return "is an empty list of alternatives"
        wrong = next((each for each in item if not _has_content(each)), _NOTHING_WRONG)
        return "" if wrong is _NOTHING_WRONG else f"has the alternative {described(wrong)}, not a text with content"
    return "" if _has_content(item) else f"is {described(item)}, not a text with content"


def _has_content(item: object) -> bool:
    return type(item) is str and bool(item.strip())


def merge_metadata(extra: dict[str, Any]) -> dict[str, Any]:
    """Merge a mapping called `metadata` into the other fields, overriding them; any other value stays as it is."""
    inner = extra.get("metadata")
    if not isinstance(inner, dict):
        return extra
    return {name: value for name, value in extra.items() if name != "metadata"} | inner


def mappings(
    items: list[Any], document: Document, path: Path, report: Report
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """Yield each case of a list with its position; report and skip items that are not mappings."""
    # An alias may refer to a deeply nested value, whose lines are not kept.
    lines, file = document.places.get(id(items), {}), absolute(path)
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield Position(path, lines.get(index), index, document.places.get(id(item), {}), file), item
        else:
            what = f"Invalid test case at index {index}: it is {described(item)}, not a mapping of fields"
            where = Position(path, lines.get(index), index)
            report(where.problem(what, advice="Write each case as a mapping with its fields."))


def _instead(name: str, value: object) -> str:
    several = f"; {_SEVERAL[name]}" if name in _SEVERAL and isinstance(value, list) else ""
    return f"{text_instead(value)}{several}"


def _wrong_with_id(value: str) -> str:
    if not value.strip():
        return "it is empty" if not value else "it is blank"
    if len(value) > MAX_ID:
        return f"it has {len(value):,} characters, more than {MAX_ID:,}"
    if not value.isprintable() and (found := _CONTROL.search(value)):
        return f"it contains the control character U+{ord(found[0]):04X}"
    return ""
