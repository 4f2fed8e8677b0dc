"""What every dialect asks of the fields of a case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prompt_evaluator.datasets.positions import Position
from prompt_evaluator.syntax.source import absolute
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.datasets.positions import Report
    from prompt_evaluator.syntax.document import Document

MAX_ID = 1_000
"""Characters of an id: it becomes part of reports, addresses and commands."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def is_id(value: str) -> bool:
    return not _wrong_with_id(value)


def check_id(record: dict[str, Any], where: Position, report: Report) -> bool:
    if record.get("id") is None:
        report(where.missing("id", "Give the case a unique id."))
    elif type(value := record["id"]) is not str:
        report(where.invalid("id", f"it is {described(value)}, not a text", "Write it in quotes."))
    elif why := _wrong_with_id(value):
        report(where.invalid("id", why, "Give the case a short, readable, unique id."))
    else:
        return True
    return False


def check_text(name: str, record: dict[str, Any], where: Position, report: Report) -> bool:
    """A required, non-empty text; null is as good as missing."""
    if record.get(name) is None:
        report(where.missing(name, f"Add {name}, a non-empty text."))
    elif type(value := record[name]) is not str:
        report(where.invalid(name, f"it is {described(value)}, not a text", "Write it in quotes."))
    elif not value:
        report(where.invalid(name, "it is empty", f"Fill in {name}, or remove the case."))
    else:
        return True
    return False


def check_optional_text(name: str, record: dict[str, Any], where: Position, report: Report) -> bool:
    value = record.get(name)
    if value is None or type(value) is str:
        return True
    report(where.invalid(name, f"it is {described(value)}, not a text", "Write it in quotes, or leave it out."))
    return False


def check_texts(name: str, record: dict[str, Any], where: Position, report: Report) -> bool:
    """An optional list of non-empty texts."""
    value = record.get(name)
    if value is None:
        return True
    if type(value) is not list:
        report(where.invalid(name, f"it is {described(value)}, not a list", "Write a list of texts."))
        return False
    for position, item in enumerate(value):
        if type(item) is not str or not item.strip():
            why = f"item {position} is {described(item)}, not a text with content"
            report(where.invalid(name, why, "Correct or remove the item."))
            return False
    return True


def merge_metadata(extra: dict[str, Any]) -> dict[str, Any]:
    """A field called `metadata` that is a mapping is merged in and wins; otherwise it is a field like any other."""
    inner = extra.get("metadata")
    if not isinstance(inner, dict):
        return extra
    return {name: value for name, value in extra.items() if name != "metadata"} | inner


def mappings(
    items: list[Any], document: Document, path: Path, report: Report
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """Each case of a list with its place; what is not a mapping is reported and left out."""
    # An alias may stand for a value from deep inside, where no lines are kept.
    lines, file = document.places.get(id(items), {}), absolute(path)
    for index, item in enumerate(items):
        if isinstance(item, dict):
            yield Position(path, lines.get(index), index, document.places.get(id(item), {}), file), item
        else:
            what = f"Invalid test case at index {index}: it is {described(item)}, not a mapping of fields"
            where = Position(path, lines.get(index), index)
            report(where.problem(what, advice="Write each case as a mapping with its fields."))


def _wrong_with_id(value: str) -> str:
    if not value.strip():
        return "it is empty" if not value else "it is blank"
    if len(value) > MAX_ID:
        return f"it has {len(value):,} characters, more than {MAX_ID:,}"
    if not value.isprintable() and (found := _CONTROL.search(value)):
        return f"it contains the control character U+{ord(found[0]):04X}"
    return ""
