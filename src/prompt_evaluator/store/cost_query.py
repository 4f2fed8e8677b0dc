"""Adds up what the samples of a run cost. The database adds; no row leaves it but the sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import and_, case, func, select

from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.schema import UNITS

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

_SAMPLE = SAMPLE_RESULTS.c
_TRIED = _SAMPLE.status != "pending"


class SampleSums(NamedTuple):
    """Sums over the samples of a run that have been tried. A sum is None if no sample has a value."""

    samples: int
    cost: float | None
    judge_cost: float | None
    unpriced: int
    """Samples with an answer but no cost."""
    input_tokens: int | None
    output_tokens: int | None
    without_tokens: int
    """Samples with an answer but without one of the two."""
    judge_input_tokens: int | None
    judge_output_tokens: int | None


class JudgedSums(NamedTuple):
    """Samples that a judge has scored and that lack something."""

    unpriced: int
    without_tokens: int


class Spent(NamedTuple):
    """What a run has used up so far, without what it reuses."""

    calls: int
    cost: float


class _PaidCall(msgspec.Struct):
    tries: int = 1
    cost: float | None = None


class _PaidUnit(msgspec.Struct):
    """What was paid for in a unit of any kind."""

    answer: _PaidCall | None = None
    failure: _PaidCall | None = None
    replies: tuple[_PaidCall, ...] = ()
    failed_cost: float | None = None
    reused: bool = False

    @property
    def calls(self) -> tuple[_PaidCall, ...]:
        return (*self.replies, *(each for each in (self.answer, self.failure) if each is not None))


_PAID = msgspec.json.Decoder(_PaidUnit)


class CaseCost(NamedTuple):
    """A case and what its samples cost."""

    case_id: str
    cost: float


class CostRows(Access):
    """The part of the store that adds up costs."""

    def spent(self, run_id: str) -> Spent:
        """What the run has used up, from its units: every call that was answered counts, also of unfinished cases."""
        calls, cost = 0, 0.0
        with self._read() as connection, self._readable(run_id):
            rows = connection.execution_options(yield_per=1_000).scalars(
                select(UNITS.c.data).where(UNITS.c.run_id == run_id)
            )
            for unit in map(_PAID.decode, rows):
                cost += 0.0 if unit.reused else unit.failed_cost or 0.0
                for call in () if unit.reused else unit.calls:
                    calls += call.tries
                    cost += call.cost or 0.0
        return Spent(calls, cost)

    def sample_sums(self, run_id: str) -> SampleSums:
        """Sums over all samples that have been tried."""
        answered = _SAMPLE.answer.is_not(None)
        no_tokens = _SAMPLE.input_tokens.is_(None) | _SAMPLE.output_tokens.is_(None)
        sums: tuple[ColumnElement[Any], ...] = (
            func.count(),
            func.sum(_SAMPLE.cost),
            func.sum(_SAMPLE.judge_cost),
            _count(and_(answered, _SAMPLE.cost.is_(None))),
            func.sum(_SAMPLE.input_tokens),
            func.sum(_SAMPLE.output_tokens),
            _count(and_(answered, no_tokens)),
            func.sum(_SAMPLE.judge_input_tokens),
            func.sum(_SAMPLE.judge_output_tokens),
        )
        with self._read() as connection:
            row = connection.execute(select(*sums).where(_SAMPLE.run_id == run_id, _TRIED)).one()
        return SampleSums(*(_plain(value) for value in row))

    def judged_sums(self, run_id: str) -> JudgedSums:
        """Samples with a judge's score for which its cost or its tokens are not known."""
        no_tokens = _SAMPLE.judge_input_tokens.is_(None) | _SAMPLE.judge_output_tokens.is_(None)
        wanted = select(_count(_SAMPLE.judge_cost.is_(None)), _count(no_tokens))
        with self._read() as connection:
            return JudgedSums(
                *connection.execute(wanted.where(_SAMPLE.run_id == run_id, _TRIED, _SAMPLE.judges.is_not(None))).one()
            )

    def case_cost(self, run_id: str) -> float | None:
        """What all cases cost, including what was reused; None if no price is known."""
        wanted = select(func.sum(CASE_RESULTS.c.cost)).where(CASE_RESULTS.c.run_id == run_id)
        with self._read() as connection:
            found: float | None = connection.scalar(wanted)
        return found

    def case_costs(self, run_id: str) -> tuple[float | None, int, int]:
        """The mean cost of the cases with a known cost, how many these are, and how many finished cases have none."""
        cost = CASE_RESULTS.c.cost
        wanted = select(func.avg(cost), func.count(cost), _count(cost.is_(None)))
        with self._read() as connection:
            mean, known, unknown = connection.execute(wanted.where(CASE_RESULTS.c.run_id == run_id)).one()
        return mean, known, unknown

    def most_expensive(self, run_id: str, limit: int) -> list[CaseCost]:
        cost = CASE_RESULTS.c.cost
        wanted = select(CASE_RESULTS.c.case_id, cost).where(CASE_RESULTS.c.run_id == run_id, cost.is_not(None))
        with self._read() as connection:
            rows = connection.execute(wanted.order_by(cost.desc(), CASE_RESULTS.c.position).limit(limit)).all()
        return [CaseCost(*row) for row in rows]


def _count(condition: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.count(case((condition, 1)))


def _plain(value: Any) -> Any:
    """PostgreSQL adds up whole numbers to decimals."""
    return value if value is None or isinstance(value, float) else int(value)
