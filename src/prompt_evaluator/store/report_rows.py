"""Finds what a report shows of a run: its worst cases, their worst samples, and the cases that vary most.

Of all cases, the database hands over only what is shown, so a run of any size takes the same memory.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from sqlalchemy import and_, case, distinct, func, or_, select

from prompt_evaluator.model.comparison import ComparedAnswer
from prompt_evaluator.model.report import CutText, VaryingRow, WorstAnswers
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.case_columns import StoredColumns
from prompt_evaluator.store.case_lines import read_case_lines
from prompt_evaluator.store.result_tables import CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import StoredScore, read_judges, read_scores
from prompt_evaluator.store.worst_cases import count_failing, worst_positions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping

    from prompt_evaluator.model.query import CaseLine

    Scales = Mapping[str, tuple[float, float]]

T = TypeVar("T")
_CALLED = {"min": "low", "max": "high"}
"""Maps columns to the names of what they become."""
_FROM_0_TO_1 = (0.0, 1.0)


class ReportRows(Access):
    """The part of the store that finds what is worth reading."""

    def worst_cases(self, run_id: str, scales: Scales, limit: int) -> list[CaseLine]:
        """Failing cases first, then flagged ones, then those with errors, then those below the top of a scale.

        Args:
            run_id: The run.
            scales: Of metrics; others are from 0 to 1. Scores count as shares of their scales.
            limit: How many cases at most.
        """
        positions = worst_positions(StoredColumns(self._read, run_id).pieces(), scales, limit)
        with self._read() as connection:
            return list(read_case_lines(connection, run_id, positions))

    def failing_cases(self, run_id: str) -> int:
        """How many cases fail."""
        return count_failing(StoredColumns(self._read, run_id).pieces())

    def varying_cases(self, run_id: str, scales: Scales, limit: int) -> tuple[list[VaryingRow], int]:
        """The cases whose samples differ most on some metric, each once, and how many vary in all."""
        own = CASE_METRICS.c
        varies = and_(
            own.run_id == run_id,
            own.std > 0,
            or_(own.variability.in_(("moderate", "high")), and_(own.passes > 0, own.passes < own["count"])),
        )
        width = own.std / _width(own.metric, scales)
        first = func.row_number().over(partition_by=own.position, order_by=(width.desc(), own.metric))
        names = ("metric", "mean", "std", "count", "min", "max", "passes", "repeat_std")
        columns = (own.position, width.label("width"), first.label("first"), *(own[name] for name in names))
        widest = select(*columns).where(varies).subquery()
        named = [widest.c[name].label(_CALLED.get(name, name)) for name in names]
        result = and_(CASE_RESULTS.c.run_id == run_id, CASE_RESULTS.c.position == widest.c.position)
        wanted = (
            select(widest.c.position, CASE_RESULTS.c.case_id.label("test_case_id"), *named)
            .join_from(widest, CASE_RESULTS, result)
            .where(widest.c.first == 1)
            .order_by(widest.c.width.desc(), widest.c.position)
        )
        with self._read() as connection:
            rows = connection.execute(wanted.limit(limit)).mappings().all()
            total = len(rows)
            if total == limit:  # otherwise these are all
                total = connection.scalar(select(func.count(distinct(own.position))).where(varies)) or 0
            return [_varying(connection, run_id, row) for row in rows], total

    def worst_answers(self, run_id: str, position: int, scales: Scales, *, limit: int, most_text: int) -> WorstAnswers:
        """The samples of one case: flagged ones first, then those with the lowest score, then those without one.

        Args:
            run_id: The run.
            position: The case.
            scales: As for `worst_cases`, in the order of the run.
            limit: How many samples at most.
            most_text: How many characters of each text to read.
        """
        row = SAMPLE_RESULTS.c
        this = (row.run_id == run_id, row.position == position)
        with self._read() as connection:
            judged = connection.execute(select(row.sample, row.flags, row.scores).where(*this)).all()
            samples = [_JudgedSample(sample, _decoded(flags), read_scores(text)) for sample, flags, text in judged]
            worst = sorted(samples, key=lambda sample: _rank(sample, scales))[:limit]
            columns = (row.sample, *_cut(row.answer, most_text), *_cut(row.error_message, most_text))
            wanted = select(*columns).where(*this, row.sample.in_([sample.sample for sample in worst]))
            texts = {sample: cut for sample, *cut in connection.execute(wanted)}
        order = {name: at for at, name in enumerate(scales)}
        answers = [_worst_answer(sample, texts[sample.sample], order, most_text) for sample in worst]
        return WorstAnswers(tuple(answers), len(samples) - len(answers))


class _JudgedSample(NamedTuple):
    sample: int
    flags: dict[str, bool]
    scores: dict[str, StoredScore]


def _rank(sample: _JudgedSample, scales: Scales) -> tuple[bool, bool, float, float, int]:
    """Flagged samples first, then those with the lowest score and the lowest mean, as shares of scales."""
    shares = [
        (score.value - low) / (high - low)
        for metric, score in sample.scores.items()
        for low, high in (_usable(scales.get(metric, _FROM_0_TO_1)),)
        if score.value is not None
    ]
    lowest, mean = (min(shares), fmean(shares)) if shares else (0.0, 0.0)
    return not any(sample.flags.values()), not shares, lowest, mean, sample.sample


def _usable(scale: tuple[float, float]) -> tuple[float, float]:
    return scale if scale[1] > scale[0] else _FROM_0_TO_1


def _worst_answer(
    sample: _JudgedSample, cut: Sequence[Any], order: Mapping[str, int], most_text: int
) -> ComparedAnswer:
    answer, length, error, error_length = cut
    scores = _sorted(sample.scores, order)
    reasons = {metric: CutText.of(score.reason, most_text).shown for metric, score in scores.items()}
    return ComparedAnswer(
        sample=sample.sample,
        answer=CutText(answer, length).shown,
        error=CutText(error, error_length).shown,
        scores={metric: score.value for metric, score in scores.items() if score.value is not None},
        reasons={metric: reason for metric, reason in reasons.items() if reason},
        flags=tuple(name for name, raised in sample.flags.items() if raised),
    )


def _varying(connection: Connection, run_id: str, found: RowMapping) -> VaryingRow:
    row, metric = SAMPLE_RESULTS.c, found["metric"]
    texts = connection.scalars(select(row.judges).where(row.run_id == run_id, row.position == found["position"]))
    values = {str(name): value for name, value in found.items() if name != "position"}
    return VaryingRow(**values, judged=any(metric in read_judges(text) for text in texts))


def _width(metric: ColumnElement[Any], scales: Scales) -> Any:
    """How wide a metric's scale is; 1 if it is not known."""
    by_width: dict[float, list[str]] = {}
    for name, (low, high) in scales.items():
        if high - low != 1.0 and high > low:
            by_width.setdefault(high - low, []).append(name)
    if not by_width:
        return 1.0
    return case(*((metric.in_(names), width) for width, names in by_width.items()), else_=1.0)


def _cut(column: ColumnElement[Any], most: int) -> tuple[Any, Any]:
    """The beginning of a text, and the length of all of it."""
    return func.substr(column, 1, most), func.length(column)


def _sorted(found: Mapping[str, T], order: Mapping[str, int]) -> dict[str, T]:
    """Put metrics in the order of the run."""
    return {name: found[name] for name in sorted(found, key=lambda name: (order.get(name, len(order)), name))}


def _decoded(text: str | None) -> dict[str, bool]:
    found: dict[str, bool] = msgspec.json.decode(text) if text else {}
    return found
