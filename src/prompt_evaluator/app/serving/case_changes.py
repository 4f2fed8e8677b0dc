"""How each case of a run changed against a baseline: what `changed:worse` means in the filter of its cases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.comparison import CLASSES

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from prompt_evaluator.app.serving.compared_pair import ComparedPair
    from prompt_evaluator.model.case_filter import CaseFilter, Change
    from prompt_evaluator.model.query import CaseQuery

_NOT_COMPARED = len(CLASSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChanges:
    """The classes of all cases, by metric, as `compare --json` has them."""

    version: Hashable
    """Differs if anything else does: who remembers something about the changes has it in the key."""
    classes: dict[str, bytes]
    """By metric that was measured in both runs: for each position, the place of its class in `CLASSES`, or one more
    for a case that was not compared."""
    reason: str | None
    """Why it is not known which cases changed."""
    _sets: dict[tuple[str, Change], frozenset[int]] = field(default_factory=dict)

    @classmethod
    def unknown(cls, reason: str) -> Self:
        """Nothing is known, because of this."""
        return cls(version=reason, classes={}, reason=reason)

    @classmethod
    def of(cls, pair: ComparedPair, positions: Mapping[str, int]) -> Self:
        """Take the cases of a comparison, whose candidate has its cases at these positions."""
        size = max(positions.values(), default=-1) + 1
        classes = {}
        for metric, cases in pair.cases.items():
            if cases.ids:
                found = bytearray([_NOT_COMPARED]) * size
                for case_id, class_ in zip(cases.ids, cases.classes.tolist(), strict=True):
                    found[positions[case_id]] = class_
                classes[metric] = bytes(found)
        return cls(version=object(), classes=classes, reason=None)

    def metric(self, wanted: str | None) -> str | None:
        """The metric that changes are about: the one that is asked for, or the first."""
        if wanted is None or wanted in self.classes:
            return wanted or next(iter(self.classes), None)
        raise ConfigurationError(f"There is no metric {wanted!r} in both runs. Known: {', '.join(self.classes)}.")

    def narrowed(self, query: CaseQuery, asked: CaseFilter) -> CaseQuery:
        """The query, with only the cases that changed as the filter says.

        Raises:
            ConfigurationError: It says so of something that is not known.
        """
        if asked.changed is None and asked.metric is None:
            return query
        if self.reason is not None:
            raise ConfigurationError(self.reason)
        metric = self.metric(asked.metric)
        if asked.changed is None:
            return query
        return msgspec.structs.replace(query, positions=self._positions(metric, asked.changed))

    def counts(self, metric: str | None, positions: Sequence[int]) -> dict[Change, int]:
        """How many of these cases changed in each way."""
        if metric is None:
            return {}
        from prompt_evaluator.stats.packed import tally  # noqa: PLC0415 - loads numpy

        found = tally(self.classes[metric], positions)
        return {change: found[at] for at, change in enumerate(CLASSES)}

    def _positions(self, metric: str | None, change: Change) -> frozenset[int]:
        """Made once: what is remembered about a filter has the set in its key."""
        if metric is None:
            return frozenset()
        if (metric, change) not in self._sets:
            wanted = CLASSES.index(change)
            self._sets[metric, change] = frozenset(
                position for position, class_ in enumerate(self.classes[metric]) if class_ == wanted
            )
        return self._sets[metric, change]
