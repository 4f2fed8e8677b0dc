"""Which cases of a dataset are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.condition import condition as parsed
from prompt_evaluator.pipeline.filter_hints import refuse_conditions, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from prompt_evaluator.model import TestCase
    from prompt_evaluator.model.condition import Condition


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
        self._case_ids, self._max_cases = case_ids, max_cases
        self._conditions = [parsed(text) for text in where]
        self._without_field = list(self._conditions)
        """Conditions on a field that no case has had so far."""
        self._seen: set[str] = set()
        """Of the wanted ids."""
        self._passed = 0

    def of(self, cases: Iterable[TestCase]) -> Iterator[TestCase]:
        """Those that pass, in file order. All cases are read: those behind the last that passes are checked too."""
        wanted = None if self._case_ids is None else set(self._case_ids)
        for case in cases:
            if self._without_field:
                self._without_field = [each for each in self._without_field if value_of(case, each.field) is None]
            if wanted is not None:
                if case.id not in wanted:
                    continue
                self._seen.add(case.id)
            if self._among is not None and case.id not in self._among:
                continue
            if self._passed != self._max_cases and all(holds(each, case) for each in self._conditions):
                self._passed += 1
                yield case

    def refuse_typos(self, again: Callable[[], Iterable[TestCase]]) -> None:
        """Once all cases were gone through: refuse what looks mistyped, with what there is instead.

        Args:
            again: All cases once more; asked for only where something is to be refused.

        Raises:
            UnknownNameError: No case has an id that was asked for, or the field of a condition.
            ConfigurationError: No case has the value that a condition asks for.
        """
        if self._case_ids is not None:
            for case_id in self._case_ids:
                if case_id not in self._seen:
                    raise UnknownNameError("test case", case_id, {case.id for case in again()})
        if self._conditions and not self._passed:
            refuse_conditions(self._conditions, again)
        elif self._without_field:  # `!=` and `=null` hold for every case then
            refuse_conditions(self._without_field, again, only_near=True)


def condition(text: str) -> Callable[[TestCase], bool]:
    """A condition on a case's metadata, or on its id, task or description where the metadata has no such key."""
    wanted = parsed(text)
    return lambda case: holds(wanted, case)


def holds(wanted: Condition, case: TestCase) -> bool:
    return wanted.holds(value_of(case, wanted.field))
