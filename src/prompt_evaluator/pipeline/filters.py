"""Selects the cases of a dataset to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.condition import condition as parsed
from prompt_evaluator.model.condition import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from prompt_evaluator.model import TestCase
    from prompt_evaluator.model.condition import Condition

_OWN_FIELDS = ("id", "task", "description")
"""Fields of a case that conditions can test if the metadata has no such key."""


class Selection:
    """Selects cases by id, then by metadata, then the first `max_cases` of the rest."""

    def __init__(
        self,
        *,
        case_ids: Sequence[str] | None = None,
        where: Sequence[str] = (),
        max_cases: int | None = None,
        among: Container[str] | None = None,
    ) -> None:
        """Parse the filters. Raise `ConfigurationError` if a condition is invalid.

        Args:
            case_ids: Ids of the wanted cases; each must exist.
            where: Conditions on metadata.
            max_cases: How many cases to select at most.
            among: Select only cases with these ids; unlike `case_ids`, they need not all exist.
        """
        self._among = among
        self._case_ids, self._max_cases = case_ids, max_cases
        self._conditions = [parsed(text) for text in where]
        self._without_field = list(self._conditions)
        """Conditions whose field no case has had so far."""
        self._seen: set[str] = set()
        """Ids in `case_ids` found so far."""
        self._passed = 0

    def of(self, cases: Iterable[TestCase]) -> Iterator[TestCase]:
        """Yield matching cases in file order. Reads all cases, so that those after the last match are checked too."""
        wanted = None if self._case_ids is None else set(self._case_ids)
        for case in cases:
            if self._without_field:
                self._without_field = [each for each in self._without_field if _value_of(case, each.field) is None]
            if wanted is not None:
                if case.id not in wanted:
                    continue
                self._seen.add(case.id)
            if self._among is not None and case.id not in self._among:
                continue
            if self._passed != self._max_cases and all(holds(each, case) for each in self._conditions):
                self._passed += 1
                yield case

    def refuse_unknown(self, again: Callable[[], Iterable[TestCase]]) -> None:
        """Refuse names that no case has. Call it after all cases were read.

        Args:
            again: Returns all cases once more; called only if an id is unknown.

        Raises:
            UnknownNameError: No case has a requested id.
            ConfigurationError: No case matches, and none has the field of a condition.
        """
        if self._case_ids is not None:
            for case_id in self._case_ids:
                if case_id not in self._seen:
                    raise UnknownNameError("test case", case_id, {case.id for case in again()})
        if self._without_field and not self._passed:
            raise ConfigurationError(f"There is no field {self._without_field[0].field!r}: no case has it.")


def condition(text: str) -> Callable[[TestCase], bool]:
    """Parse a condition on metadata, or on a case's id, task or description if the metadata has no such key."""
    wanted = parsed(text)
    return lambda case: holds(wanted, case)


def holds(wanted: Condition, case: TestCase) -> bool:
    return wanted.holds(_value_of(case, wanted.field))


def _value_of(case: TestCase, key: str) -> Any:
    """The value that a condition on this key tests."""
    found = lookup(case.metadata, key)
    return getattr(case, key) if found is None and key in _OWN_FIELDS else found
