"""Which cases of a dataset are run."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.condition import condition as parsed
from prompt_evaluator.model.condition import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from prompt_evaluator.model import TestCase

_SHOWN = 10
"""Known ids that are listed where none is near: a dataset may have thousands."""


class Selection:
    """The cases that pass: by id first, then by metadata, then the first `max_cases` of what is left."""

    def __init__(
        self,
        *,
        case_ids: Sequence[str] | None = None,
        where: Sequence[str] = (),
        max_cases: int | None = None,
        among: Container[str] | None = None,
    ) -> None:
        """Take the filters; raises `ConfigurationError` about a condition that is none.

        Args:
            case_ids: Of the wanted cases; each has to be there.
            where: Conditions on metadata.
            max_cases: How many at most.
            among: Ids that a case has to be one of; not each of them has to be there.
        """
        self._among = among
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
            if self._among is not None and case.id not in self._among:
                continue
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
    """A condition on a case's metadata, or on its id, task or description where the metadata has no such key."""
    wanted = parsed(text)
    return lambda case: wanted.holds(_lookup(case, wanted.field))


def _lookup(case: TestCase, key: str) -> Any:
    found = lookup(case.metadata, key)
    return getattr(case, key) if found is None and key in ("id", "task", "description") else found
