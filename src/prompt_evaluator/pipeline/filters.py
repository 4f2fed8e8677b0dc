"""Which cases of a dataset are run."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.condition import condition as parsed
from prompt_evaluator.model.condition import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prompt_evaluator.model import TestCase

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
    """A condition on a case's metadata, or on its id, task or description where the metadata has no such key."""
    wanted = parsed(text)
    return lambda case: wanted.holds(_lookup(case, wanted.field))


def _lookup(case: TestCase, key: str) -> Any:
    found = lookup(case.metadata, key)
    return getattr(case, key) if found is None and key in ("id", "task", "description") else found
