"""Looks up the values that conditions test, and explains why no case matches: an unknown field or value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.hints import nearest
from prompt_evaluator.model.condition import lookup, no_such_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prompt_evaluator.model import TestCase
    from prompt_evaluator.model.condition import Condition

OWN_FIELDS = ("id", "task", "description")
"""Fields of a case that conditions can test if the metadata has no such key."""
_MOST_KEPT = 1_000
"""How many fields, and values of one field, are kept for a message: a dataset may have millions."""
_DEEPEST = 3


def value_of(case: TestCase, key: str) -> Any:
    """The value that a condition on this key tests."""
    found = lookup(case.metadata, key)
    return getattr(case, key) if found is None and key in OWN_FIELDS else found


def refuse_conditions(
    conditions: Sequence[Condition], again: Callable[[], Iterable[TestCase]], *, only_near: bool = False
) -> None:
    """Raise an error about the first condition whose field or value no case has.

    Args:
        conditions: Conditions that may be mistyped.
        again: Returns all cases once more.
        only_near: Whether to refuse only fields whose name resembles an existing one.
    """
    fields: dict[str, None] = {}
    values: dict[Condition, dict[Any, None]] = {each: {} for each in conditions}
    held: set[Condition] = set()
    for case in again():
        _keep(fields, _fields(case))
        for each, kept in values.items():
            found = value_of(case, each.field)
            _keep(kept, _single(found))
            if each.holds(found):
                held.add(each)
    for each, kept in values.items():
        if not kept and (nearest(each.field, fields) or not only_near):
            raise UnknownNameError("field", each.field, fields)
        if not only_near and each not in held and kept:
            raise no_such_value(each, "case", kept, cut=len(kept) >= _MOST_KEPT)


def _keep(kept: dict[Any, None], more: Iterable[Any]) -> None:
    for each in more:
        if len(kept) < _MOST_KEPT:
            kept[each] = None


def _fields(case: TestCase) -> Iterator[str]:
    yield from _names(case.metadata, "", 1)
    yield from (name for name in OWN_FIELDS if getattr(case, name) is not None)


def _names(values: dict[str, Any], outer: str, depth: int) -> Iterator[str]:
    """Keys, including those of nested mappings, joined with dots."""
    for name, value in values.items():
        yield f"{outer}{name}"
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from _names(value, f"{outer}{name}.", depth + 1)


def _single(found: Any) -> Iterator[Any]:
    """The values that a condition compares with, with lists flattened."""
    if isinstance(found, list):
        for item in found:
            yield from _single(item)
    elif isinstance(found, dict):
        yield "a mapping"
    elif found is not None:
        yield found
