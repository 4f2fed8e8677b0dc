"""Which cases of a run are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from prompt_evaluator.stats.packed import counts, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from prompt_evaluator.model.case_columns import CaseColumns
    from prompt_evaluator.model.slicing import Groups
    from prompt_evaluator.stats.packed import Bools

T = TypeVar("T")
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def any_score(columns: CaseColumns) -> Bools:
    """Which cases have a score on any metric."""
    found = np.zeros(columns.size, dtype=bool)
    for each in columns.metrics.values():
        found[places(each.at, columns.size)] = True
    return found


class Kinds(NamedTuple):
    """The different metadata of some cases, and which of them each case has."""

    metadata: Sequence[Mapping[str, Any]]
    of_cases: npt.NDArray[Any]

    @classmethod
    def of(cls, columns: CaseColumns, cases: Bools | None = None) -> Kinds:
        """The kinds of these cases, by default all; metadata of others is left out."""
        of_cases = counts(columns.kinds, columns.size)
        wanted = set(np.unique(of_cases if cases is None else of_cases[cases]).tolist())
        texts = (text if kind in wanted else "" for kind, text in enumerate(columns.metadata))
        return cls([_decode(text) if text else {} for text in texts], of_cases)

    def members(self, groups: Groups[T]) -> Iterator[tuple[T, Bools]]:
        """Each group that some of the cases belong to, and which of them do; groups are found once per kind."""
        found: dict[int, tuple[T, list[int]]] = {}
        for kind, metadata in enumerate(self.metadata):
            for group in groups.of(metadata):
                found.setdefault(id(group), (group, []))[1].append(kind)
        for group, kinds in found.values():
            yield group, np.isin(self.of_cases, kinds)
