"""Finds the worst cases of a run in its columns, and counts those that fail."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from prompt_evaluator.model.case_columns import (
    CASES_AT_ONCE,
    FAILING,
    FLAGGED,
    HAS_ERRORS,
    HAS_RESULT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prompt_evaluator.model.case_columns import CaseColumns

_TOP = 1 - 1e-9
"""A case whose scores are all at the top of their scales is not among the worst."""
_FROM_0_TO_1 = (0.0, 1.0)
_Key = tuple[int, float, float, int]
"""Rank, lowest score, mean score and position of a case; the worst sorts first."""


def worst_positions(pieces: Iterable[CaseColumns], scales: Mapping[str, tuple[float, float]], limit: int) -> list[int]:
    """Positions of the worst cases: see `ReportRows.worst_cases`."""
    best: list[_Key] = []
    for number, piece in enumerate(pieces):
        best = sorted([*best, *islice(_worst_of(piece, number * CASES_AT_ONCE, scales), limit)])[:limit]
    return [position for *_, position in best]


def count_failing(pieces: Iterable[CaseColumns]) -> int:
    failing = bytes(state for state in range(256) if state & FAILING)
    return sum(piece.size - len(piece.states.translate(None, failing)) for piece in pieces)


def _worst_of(piece: CaseColumns, start: int, scales: Mapping[str, tuple[float, float]]) -> Iterator[_Key]:
    """The worst cases of a piece, in order. A case without a score comes after those of the same rank that have one."""
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    from prompt_evaluator.stats.packed import places, scores  # noqa: PLC0415

    lowest, total, count = np.full(piece.size, np.inf), np.zeros(piece.size), np.zeros(piece.size)
    for name in sorted(piece.metrics):
        columns, (low, high) = piece.metrics[name], scales.get(name, _FROM_0_TO_1)
        low, high = (low, high) if low < high else _FROM_0_TO_1
        at, shares = places(columns.at, piece.size), (scores(columns.mean, 0) - low) / (high - low)
        lowest[at] = np.minimum(lowest[at], shares)
        total[at] += shares
        count[at] += 1
    states = np.frombuffer(piece.states, np.uint8)
    is_bad = [states & FAILING != 0, states & FLAGGED != 0, states & HAS_ERRORS != 0, lowest < _TOP]
    ranks = np.select(is_bad, range(len(is_bad)), len(is_bad))
    bad = np.flatnonzero((ranks < len(is_bad)) & (states & HAS_RESULT != 0))
    means = total[bad] / np.maximum(count[bad], 1)
    order = np.lexsort((means, lowest[bad], ranks[bad]))
    for row in order:
        case = int(bad[row])
        yield int(ranks[case]), float(lowest[case]), float(means[row]), start + case
