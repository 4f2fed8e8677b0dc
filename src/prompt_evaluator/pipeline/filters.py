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


class Selection:
    """The cases that pass: by id first, then by metadata, then the first `max_cases` of what is left."""

    def __init__(
        self, *, case_ids: Sequence[str] | None = None, where: Sequence[str] = (), max_cases: int | None = None
    ) -> None:
        """Take the filters; raises `ConfigurationError` about a condition that is none."""
        self._case_ids, self._conditions, self._max_cases = case_ids, [condition(text) for text in where], max_cases
        self._seen: set[str] = set()
        """Of the wanted ids."""

    def of(self, cases: Iterable[TestCase]) -> Iterator[TestCase]:
        """Those that pass, in file order. All cases are read: those behind the last that passes are checked too."""
        wanted = None if self._case_ids is None else set(self._case_ids)
        passed = 0
        for case in cases:
            if wanted is not None:
                if case.id not in wanted:
                    continue
                self._seen.add(case.id)
            if passed != self._max_cases and all(passes(case) for passes in self._conditions):
                passed += 1
                yield case

    def refuse_unknown_ids(self, known: Callable[[], Iterable[str]]) -> None:
        """Once all cases were gone through: refuse an id that none has, with the nearest of those that are known."""
        for case_id in self._case_ids or ():
            if case_id not in self._seen:
                present = set(known())
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
