"""Which cases of a dataset are run."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from prompt_evaluator.errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prompt_evaluator.model import TestCase

_CONDITION = re.compile(r"\s*([^=<>!]+?)\s*(!=|>=|<=|=|>|<)\s*(.*)", re.DOTALL)
_SHOWN = 10
"""Known ids that are listed where none is near: a dataset may have thousands."""


def select(
    cases: Iterable[TestCase],
    *,
    case_ids: Sequence[str] | None = None,
    where: Sequence[str] = (),
    max_cases: int | None = None,
) -> Iterator[TestCase]:
    """The cases that pass, in file order: by id first, then by metadata, then the first so many of what is left."""
    wanted = None if case_ids is None else set(case_ids)
    conditions = [condition(text) for text in where]
    left = max_cases
    for case in cases:
        if (wanted is None or case.id in wanted) and all(passes(case) for passes in conditions):
            left = None if left is None else left - 1
            yield case
        if left == 0:
            return


def check_ids(case_ids: Sequence[str], known: Iterable[str]) -> None:
    """Refuse ids that no case has, with the nearest known."""
    present = set(known)
    for case_id in case_ids:
        if case_id not in present:
            near = get_close_matches(case_id, present, n=1, cutoff=0.5)
            raise UnknownNameError("test case", case_id, near or sorted(present)[:_SHOWN])


def condition(text: str) -> Callable[[TestCase], bool]:
    """`key=value`, `key!=value` or a comparison, on a case's metadata; dots reach into mappings.

    A list passes when one of its items does. A comparison of numbers is numeric.
    """
    found = _CONDITION.fullmatch(text)
    if not found:
        raise ConfigurationError(f"--where {text!r} is no condition. Write key=value, key!=value, key>=3 and the like.")
    key, operator, value = found.groups()
    test = _TESTS[operator]
    return lambda case: test(_lookup(case, key), value)


def _lookup(case: TestCase, key: str) -> Any:
    if key in case.metadata:
        return case.metadata[key]
    found: Any = case.metadata
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if found is None and key in ("id", "task", "description"):
        return getattr(case, key)
    return found


def _equal(found: Any, value: str) -> bool:
    if isinstance(found, list):
        return any(_equal(item, value) for item in found)
    if isinstance(found, bool) or found is None:
        return value.lower() == {True: "true", False: "false", None: "null"}[found]
    if isinstance(found, (int, float)):
        return (number := _number(value)) is not None and found == number
    return bool(found == value)


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, str], bool]:
    def test(found: Any, value: str) -> bool:
        if isinstance(found, list):
            return any(test(item, value) for item in found)
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return (number := _number(value)) is not None and compare(found, number)
        return isinstance(found, str) and compare(found, value)

    return test


_TESTS: dict[str, Callable[[Any, str], bool]] = {
    "=": _equal,
    "!=": lambda found, value: not _equal(found, value),
    ">": _compared(lambda a, b: a > b),
    ">=": _compared(lambda a, b: a >= b),
    "<": _compared(lambda a, b: a < b),
    "<=": _compared(lambda a, b: a <= b),
}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
