"""What reads runs that have ended, to compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model.case_columns import CaseColumns, IdColumn
    from prompt_evaluator.model.comparison import ComparedAnswer, ComparedCase, RunFacts


class ComparedRun(Protocol):
    """A run to be compared: a stored one, or a file."""

    @property
    def facts(self) -> RunFacts: ...

    def case_ids(self) -> Iterator[str]:
        """Ids of all cases, in file order."""

    def batches(self) -> Iterator[Sequence[ComparedCase]]:
        """All cases in file order, some hundred at a time."""

    def find(self, case_ids: Sequence[str]) -> dict[str, ComparedCase]:
        """Those of these cases that the run has."""

    def answers(self, case_id: str) -> Sequence[ComparedAnswer]:
        """All samples of a case, in order; empty if unknown."""

    def input(self, case_id: str) -> str | None:
        """The input of a case, if it is known."""


@runtime_checkable
class ColumnRun(ComparedRun, Protocol):
    """A run whose cases can also be read as columns, which takes a fraction of the time."""

    def digests(self) -> Sequence[bytes]:
        """Hashes of the ids and contents of all cases, one for each piece of `columns`."""

    def columns(self) -> Iterator[CaseColumns]:
        """All cases in file order, `CASES_AT_ONCE` at a time."""

    def id_columns(self) -> Iterator[IdColumn]:
        """The ids of the same cases."""
