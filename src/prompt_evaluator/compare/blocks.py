"""The cases of two runs side by side, some thousand at a time, as columns of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prompt_evaluator.compare.kinds import Kinds
from prompt_evaluator.compare.pairing import Pair, pairs
from prompt_evaluator.model.comparison import CaseScores
from prompt_evaluator.ports import ColumnRun
from prompt_evaluator.stats.packed import counts, places, scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prompt_evaluator.compare.pairing import Rows
    from prompt_evaluator.model.case_columns import CaseColumns, FlagColumns, IdColumn, ScoreColumns
    from prompt_evaluator.model.comparison import ComparedCase
    from prompt_evaluator.model.query import CaseFlag
    from prompt_evaluator.ports import ComparedRun
    from prompt_evaluator.stats.packed import Bools, Counts, Floats, Ints

_PAIRS_AT_ONCE = 4_096
_NO_SCORES = CaseScores(0.0, None, 0, None, 0, None)


@dataclass(frozen=True, slots=True)
class ScoreBlock:
    """One run's scores on one metric: a number for each case of the block."""

    known: Bools
    """Which cases have a score; the others have arbitrary numbers."""
    mean: Floats
    std: Floats
    """NaN if there is none."""
    count: Ints
    missing: Ints
    case: Callable[[int], CaseScores]
    """All that is known of one case."""


class FlagBlock(NamedTuple):
    """How often a flag was raised in one run, for each case of the block."""

    known: Bools
    raised: Ints
    asked: Ints


class Texts(NamedTuple):
    """Texts in one piece."""

    encoded: bytes
    sizes: Counts
    """Bytes of each."""


class Block(NamedTuple):
    """Some cases of two runs."""

    common: Bools
    """Which of them both runs have, unchanged."""
    ids: Texts
    """Of the common ones."""
    kinds: Kinds
    """Of the common ones."""
    metrics: dict[str, tuple[ScoreBlock | None, ScoreBlock | None]]
    flags: dict[str, tuple[FlagBlock | None, FlagBlock | None]]


def blocks(baseline: ComparedRun, candidate: ComparedRun, rows: Rows) -> Iterator[Block]:
    """Every case of either run, counted in `rows`; see `pairs` for the order.

    Stored runs of the same cases in the same order, which is usual, are read as columns.
    """
    if (
        isinstance(baseline, ColumnRun)
        and isinstance(candidate, ColumnRun)
        and baseline.digests() == candidate.digests()
    ):
        for ids, *sides in zip(baseline.id_columns(), baseline.columns(), candidate.columns(), strict=True):
            rows.common += sides[0].size
            yield _block_of_columns(ids, *sides)
        return
    found = pairs(baseline, candidate)
    while some := list(islice(found, _PAIRS_AT_ONCE)):
        yield _block_of_pairs(some, [rows.add(pair) for pair in some])


def _block_of_columns(ids: IdColumn, baseline: CaseColumns, candidate: CaseColumns) -> Block:
    sides = (baseline, candidate)
    return Block(
        np.ones(baseline.size, dtype=bool),
        Texts(ids.encoded, counts(ids.sizes, baseline.size)),
        Kinds.of(baseline),
        {
            name: _both(_stored_scores, [side.metrics.get(name) for side in sides], baseline.size)
            for name in baseline.metrics | candidate.metrics
        },
        {
            name: _both(_stored_flags, [side.flags.get(name) for side in sides], baseline.size)
            for name in baseline.flags | candidate.flags
        },
    )


def _both(make: Any, columns: Sequence[Any], size: int) -> Any:
    return tuple(None if each is None else make(each, size) for each in columns)


def _stored_scores(columns: ScoreColumns, size: int) -> ScoreBlock:
    at = places(columns.at, size)
    sizes, values = counts(columns.sizes, 0), scores(columns.values, 0)
    ends = np.cumsum(sizes, dtype=np.int64)
    place = _spread(at, np.arange(len(at)), size)
    spread = [
        _spread(at, each, size)
        for each in (
            scores(columns.mean, len(at)),
            scores(columns.std, len(at)),
            counts(columns.count, len(at), usual=1).astype(np.int64),
            counts(columns.missing, len(at)).astype(np.int64),
        )
    ]
    mean, std, count, missing = spread

    def case(number: int) -> CaseScores:
        row = int(place[number])
        each = values[int(ends[row]) - int(sizes[row]) : int(ends[row])] if len(sizes) else mean[number : number + 1]
        return _case_scores(mean[number], std[number], count[number], missing[number], tuple(each.tolist()) or None)

    return ScoreBlock(_known(at, size), mean, std, count, missing, case)


def _case_scores(mean: Any, std: Any, count: Any, missing: Any, values: tuple[float, ...] | None) -> CaseScores:
    return CaseScores(float(mean), None if math.isnan(std) else float(std), int(count), None, int(missing), values)


def _stored_flags(columns: FlagColumns, size: int) -> FlagBlock:
    at = places(columns.at, size)
    raised, asked = (
        _spread(at, counts(each, len(at)).astype(np.int64), size) for each in (columns.raised, columns.asked)
    )
    return FlagBlock(_known(at, size), raised, asked)


def _known(at: Counts, size: int) -> Bools:
    known = np.zeros(size, dtype=bool)
    known[at] = True
    return known


def _spread(at: Counts, values: Any, size: int) -> Any:
    """Numbers of some cases as numbers of all."""
    if len(at) == size:
        return values
    spread = np.zeros(size, dtype=values.dtype)
    spread[at] = values
    return spread


def _block_of_pairs(some: Sequence[Pair], common: list[bool]) -> Block:
    shared = [pair for pair, is_common in zip(some, common, strict=True) if is_common]
    baselines = [pair.baseline for pair in shared if pair.baseline]
    ids = [case.case_id.encode("utf-8", "surrogatepass") for case in baselines]
    metadata = [
        pair.baseline.metadata or pair.candidate.metadata for pair in shared if pair.baseline and pair.candidate
    ]
    sides = [pair.baseline for pair in some], [pair.candidate for pair in some]
    metrics = dict.fromkeys(name for pair in some for case in pair if case for name in case.scores)
    flags = dict.fromkeys(name for pair in some for case in pair if case for name in case.flags)
    return Block(
        np.array(common, dtype=bool),
        Texts(b"".join(ids), np.array([len(each) for each in ids], dtype=np.uint32)),
        Kinds(metadata, np.arange(len(metadata))),
        {name: (_scores(sides[0], name), _scores(sides[1], name)) for name in metrics},
        {name: (_flags(sides[0], name), _flags(sides[1], name)) for name in flags},
    )


def _scores(cases: Sequence[ComparedCase | None], name: str) -> ScoreBlock:
    found = [case.scores.get(name) if case else None for case in cases]
    return ScoreBlock(
        np.array([each is not None for each in found], dtype=bool),
        np.array([each.mean if each else 0.0 for each in found]),
        np.array([math.nan if each is None or each.std is None else each.std for each in found]),
        np.array([each.count if each else 1 for each in found], dtype=np.int64),
        np.array([each.missing if each else 0 for each in found], dtype=np.int64),
        lambda number: found[number] or _NO_SCORES,
    )


def _flags(cases: Sequence[ComparedCase | None], name: str) -> FlagBlock:
    found: list[CaseFlag | None] = [case.flags.get(name) if case else None for case in cases]
    asked = [each.asked if each else 0 for each in found]
    return FlagBlock(
        np.array([count > 0 for count in asked], dtype=bool),
        np.array([each.raised if each else 0 for each in found], dtype=np.int64),
        np.array(asked, dtype=np.int64),
    )
