"""Which item is to blame when worker processes die?

A process works on many items, so its death says little about any of them, and it may have been killed from outside.
An item that has lost its process twice is therefore tried in smaller company, with a quarter as many items after each
further death, and in the end alone. Only deaths while it was alone count against it. An item that comes back with more
finished units than before starts anew: it got further, so it does not kill every process. The more deaths alone an
item has survived in this way, the more are needed: such deaths came from outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.work import WorkItem

MOST_ALONE = 5
"""Deaths while it was alone, beyond the most that an innocent item has survived, after which an item is to blame."""


class _Record(msgspec.Struct):
    """Deaths of processes that worked on an item, while it had this many finished units."""

    units: int
    deaths: int = 0
    alone: int = 0


class Suspects:
    """Items that have lost their process, until they end."""

    def __init__(self, most: int) -> None:
        """Suspect nothing; `most` is the most items in progress at one process."""
        self._most = most
        self._records: dict[tuple[str, int], _Record] = {}
        self._survived = 0
        """The most deaths alone of an item that got further all the same."""

    def deaths(self, item: WorkItem) -> int:
        """How often the item lost its process since it got further."""
        return self._record(item).deaths

    def company(self, item: WorkItem) -> int:
        """The most items in progress at a process that works on this one, itself included."""
        return max(1, self._most >> 2 * max(0, self.deaths(item) - 1))

    def died(self, items: Sequence[WorkItem]) -> WorkItem | None:
        """Record the death of a process with these items in progress. Return the one to blame, if there is one."""
        for item in items:
            record = self._records[item.case.id, item.sample] = self._record(item)
            record.deaths += 1
            record.alone += len(items) == 1
            if record.alone >= MOST_ALONE + self._survived:
                return item
        return None

    def ended(self, item: WorkItem) -> None:
        """Forget an item that its process survived."""
        if known := self._records.pop((item.case.id, item.sample), None):
            self._survived = max(self._survived, known.alone)

    def _record(self, item: WorkItem) -> _Record:
        units = sum(unit.ok for unit in item.own)
        known = self._records.get((item.case.id, item.sample))
        if known is not None and known.units < units:
            self.ended(item)
            known = None
        return known or _Record(units)
