"""Counts cases by their metadata, for keys that divide them into a few groups."""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.case_filter import filter_word

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from prompt_evaluator.config.loading import Settings

_MOST_VALUES = 20
_MOST_KEYS = 100
"""Keys looked at, so that metadata with a new key in every case does not fill the memory."""
_MOST_FACETS = 6
_LONGEST_VALUE = 60


class FacetValue(msgspec.Struct, frozen=True, kw_only=True):
    """One group of cases."""

    value: str
    word: str
    """What the filter calls it."""
    count: int


class Facet(msgspec.Struct, frozen=True, kw_only=True):
    """A metadata key and its groups."""

    key: str
    values: tuple[FacetValue, ...]


class _Column(NamedTuple):
    values: list[str]
    cases: array[int]
    """By position, which of the values a case has, counted from 1; 0 for none."""


class FacetIndex:
    """The groups of all cases of a run, in one byte for each case and key. The cases of a run never change."""

    def __init__(self, metadata: Iterable[tuple[int, dict[str, Any]]]) -> None:
        self.keys: list[str] = []
        """All keys, those with many values too."""
        self._columns: dict[str, _Column | None] = {}
        for position, found in metadata:
            for key, value in found.items():
                self._add(position, key, _text(value))

    def facets(self, positions: Iterable[int]) -> tuple[Facet, ...]:
        """The groups of these cases; keys with only one group are left out."""
        chosen = list(positions)
        columns = [(key, column) for key, column in self._columns.items() if column and len(column.values) > 1]
        return tuple(_facet(key, column, chosen) for key, column in columns[:_MOST_FACETS])

    def _add(self, position: int, key: str, text: str | None) -> None:
        if key not in self._columns:
            if len(self.keys) == _MOST_KEYS:
                return
            self.keys.append(key)
            self._columns[key] = _Column([], array("B"))
        column = self._columns[key]
        if column is None or text is None:
            return
        if text not in column.values:
            if len(column.values) == _MOST_VALUES or filter_word(key, text) is None or len(text) > _LONGEST_VALUE:
                self._columns[key] = None
                return
            column.values.append(text)
        column.cases.extend(bytes(max(0, position + 1 - len(column.cases))))
        column.cases[position] = column.values.index(text) + 1


def facet_index(settings: Settings, run_id: str) -> FacetIndex:
    """The groups of all cases of a run, given its whole id. Reads all metadata."""
    return FacetIndex(open_store(settings).case_metadata(run_id))


def _facet(key: str, column: _Column, positions: list[int]) -> Facet:
    known = len(column.cases)
    counts = Counter(column.cases[position] for position in positions if position < known)
    values = [
        FacetValue(value=value, word=filter_word(key, value) or "", count=counts[at])
        for at, value in enumerate(column.values, 1)
    ]
    return Facet(key=key, values=tuple(sorted(values, key=lambda each: -each.count)))


def _text(value: Any) -> str | None:
    """The value as the filter writes it; None if it does not name a group."""
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int():
            return str(value)
    return None
