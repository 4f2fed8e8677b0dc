"""Counts cases by their metadata, for keys that divide them into a few groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.case_filter import filter_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.case_columns import CaseKinds

_MOST_VALUES = 20
_MOST_KEYS = 100
"""Keys looked at, so that metadata with a new key in every case does not fill the memory."""
_MOST_FACETS = 6
_LONGEST_VALUE = 60
_decode = msgspec.json.Decoder(dict[str, Any]).decode


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
    values: dict[str, int]
    """Their numbers, counted from 1."""
    cases: bytearray
    """By position, the number of the value that a case has; 0 for none."""

    def fill(self, cases: int) -> None:
        """Let cases up to this one have none."""
        self.cases.extend(bytes(cases - len(self.cases)))


class FacetIndex:
    """The groups of all cases of a run, in one byte for each case and key. The cases of a run never change."""

    def __init__(self, pieces: Iterable[CaseKinds]) -> None:
        self.keys: list[str] = []
        """All keys, those with many values too."""
        self._columns: dict[str, _Column | None] = {}
        self._cases = 0
        for piece in pieces:
            self._add(piece)
        for column in self._columns.values():
            if column:
                column.fill(self._cases)

    def facets(self, positions: Sequence[int]) -> tuple[Facet, ...]:
        """The groups of these cases; keys with only one group are left out."""
        columns = [(key, column) for key, column in self._columns.items() if column and len(column.values) > 1]
        return tuple(_facet(key, column, positions) for key, column in columns[:_MOST_FACETS])

    def _add(self, piece: CaseKinds) -> None:
        """Add cases, looking at each kind of metadata once; kinds are in order of appearance, as cases are."""
        groups: dict[str, bytearray] = {}
        for kind, text in enumerate(piece.metadata):
            for key, value in (_decode(text) if text else {}).items():
                if group := self._group(key, value):
                    groups.setdefault(key, bytearray(len(piece.metadata)))[kind] = group
        for key, of_kinds in groups.items():
            if column := self._columns[key]:
                column.fill(self._cases)
                column.cases.extend(_of_cases(of_kinds, piece))
        self._cases += piece.size

    def _group(self, key: str, value: Any) -> int:
        """The number of a group, counted from 1; 0 for none."""
        if key not in self._columns:
            if len(self.keys) == _MOST_KEYS:
                return 0
            self.keys.append(key)
            self._columns[key] = _Column({}, bytearray())
        column = self._columns[key]
        if column is None or (text := _text(value)) is None:
            return 0
        if text not in column.values:
            if len(column.values) == _MOST_VALUES or filter_word(key, text) is None or len(text) > _LONGEST_VALUE:
                self._columns[key] = None
                return 0
            column.values[text] = len(column.values) + 1
        return column.values[text]


def facet_index(settings: Settings, run_id: str) -> FacetIndex:
    """The groups of all cases of a run, given its whole id. Reads all metadata."""
    return FacetIndex(open_store(settings).case_kinds(run_id))


def _of_cases(groups: bytearray, piece: CaseKinds) -> bytes:
    """The group of each case, given that of each kind."""
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    from prompt_evaluator.stats.packed import counts  # noqa: PLC0415

    return np.frombuffer(groups, np.uint8)[counts(piece.kinds, piece.size)].tobytes()


def _facet(key: str, column: _Column, positions: Sequence[int]) -> Facet:
    from prompt_evaluator.stats.packed import tally  # noqa: PLC0415 - loads numpy

    counts = tally(column.cases, positions)
    values = [
        FacetValue(value=value, word=filter_word(key, value) or "", count=counts[at])
        for value, at in column.values.items()
    ]
    return Facet(key=key, values=tuple(sorted(values, key=lambda each: -each.count)))


def _text(value: Any) -> str | None:
    """The value as the filter writes it; None if it does not name a group."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None
