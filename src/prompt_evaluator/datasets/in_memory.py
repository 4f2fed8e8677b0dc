"""Cases from a Python caller, checked by the same rules as files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from prompt_evaluator.datasets.dialects import GUIDE
from prompt_evaluator.datasets.dialects.guide import CASE_FIELDS
from prompt_evaluator.datasets.positions import Position, duplicate, stop_at_the_first
from prompt_evaluator.model import TestCase

_WHERE = Path("the given cases")


class InMemoryDataset:
    """Cases from a caller, with the interface of a `DatasetReader`."""

    path = None

    def __init__(self, cases: tuple[TestCase, ...]) -> None:
        self._cases, self.count = cases, len(cases)
        placeless = [msgspec.structs.replace(case, file=None, line=None) for case in cases]
        self.hash = hashlib.sha256(msgspec.json.encode(placeless)).hexdigest()

    def __iter__(self) -> Iterator[TestCase]:
        return iter(self._cases)

    def again(self) -> Iterable[TestCase]:
        return self._cases


def in_memory_cases(given: Iterable[object]) -> tuple[TestCase, ...]:
    """Check cases, each a `TestCase` or a mapping with the fields of a case in a file.

    Raises:
        InputError: An item is neither, a field is missing or wrong, an id is a duplicate, or a value cannot be stored.
    """
    first: dict[str, Position] = {}
    cases = []
    for index, item in enumerate(given):
        where = Position(_WHERE, None, index)
        case = _case(item, where)
        if (earlier := first.setdefault(case.id, where)) is not where:
            raise duplicate(case.id, where, earlier)
        cases.append(case)
    return tuple(cases)


def _case(given: object, where: Position) -> TestCase:
    if isinstance(given, TestCase):
        # msgspec does not validate a struct's fields on creation.
        GUIDE.case({name: getattr(given, name) for name in CASE_FIELDS}, where, stop_at_the_first)
        case: TestCase | None = given
    elif isinstance(given, Mapping):
        case = GUIDE.case(dict(given), where, stop_at_the_first, strict=True)
    else:
        what = f"Case {where.index} is a {type(given).__name__}, neither a TestCase nor a mapping"
        raise where.problem(what, advice="Give mappings with `id` and `input`.")
    assert case is not None  # noqa: S101 - otherwise the dialect raised
    return _kept(case, where)


def _kept(case: TestCase, where: Position) -> TestCase:
    """Refuse values that could not be stored later."""
    try:
        return msgspec.json.decode(msgspec.json.encode(case), type=TestCase)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        what = f"The case {case.id!r} has a value that cannot be stored: {error}"
        raise where.problem(what, advice="Use texts, numbers, lists and mappings.") from None
