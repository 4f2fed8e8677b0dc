"""Reads all results of a run as flat rows, some thousand samples at a time; decodes no units and no JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, func, select, tuple_

from prompt_evaluator.model.flat_rows import CASE_COLUMNS, SAMPLE_COLUMNS, SCORE_COLUMNS, FlatBatch, WorstSample
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS, SCORES
from prompt_evaluator.store.schema import CASES, RUNS
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

_SAMPLES_AT_ONCE = 5_000
_CALLED = {"test_case_id": "case_id", "output": "answer", "score": "value"}
"""Maps names of columns in tables for users to those of the store."""


def _columns(table: Table, names: Sequence[str]) -> list[Any]:
    return [table.c[_CALLED.get(name, name)] for name in names]


_CASE, _SAMPLE, _SCORE = (
    _columns(CASES, CASE_COLUMNS),
    _columns(SAMPLE_RESULTS, SAMPLE_COLUMNS),
    _columns(SCORES, SCORE_COLUMNS),
)


class FlatRows(Access):
    """The part of the store that reads whole tables."""

    def flat_rows(self, run_id: str, *, samples_at_once: int = _SAMPLES_AT_ONCE) -> Iterator[FlatBatch]:
        """All cases of a run in file order, with their samples and scores."""
        with self._read() as connection:
            wanted = select(RUNS.c.num_samples).where(RUNS.c.run_id == run_id)
            cases_at_once = max(1, samples_at_once // max(1, connection.scalar(wanted) or 1))
        start = 0
        while True:
            with self._read() as connection:
                batch = _batch(connection, run_id, start, cases_at_once)
            if batch is None:
                return
            yield batch
            start = batch.cases[-1][0] + 1

    def worst_samples(self, run_id: str, positions: Sequence[int], *, most_text: int) -> dict[int, WorstSample]:
        """Of each of these cases that has one, the sample that misses most pass marks.

        Args:
            run_id: The run.
            positions: The cases.
            most_text: How many characters of an answer or a reason to read.
        """
        found: dict[int, WorstSample] = {}
        for chunk in chunks(positions):
            with self._read() as connection:
                found |= _worst(connection, run_id, chunk, most_text)
        return found

    def case_places(self, run_id: str, case_ids: Sequence[str]) -> dict[str, tuple[str | None, int | None]]:
        """File and line of those of these cases that the run has."""
        found: dict[str, tuple[str | None, int | None]] = {}
        for chunk in chunks(case_ids):
            wanted = select(CASES.c.case_id, CASES.c.file, CASES.c.line)
            with self._read() as connection:
                rows = connection.execute(wanted.where(CASES.c.run_id == run_id, CASES.c.case_id.in_(chunk))).all()
            found |= {case_id: (file, line) for case_id, file, line in rows}
        return found

    def has_run(self, run_id: str) -> bool:
        """Whether the store has a run with exactly this id."""
        with self._read() as connection:
            return connection.scalar(select(RUNS.c.run_id).where(RUNS.c.run_id == run_id)) is not None


def _batch(connection: Connection, run_id: str, start: int, cases_at_once: int) -> FlatBatch | None:
    page = select(*_CASE).where(CASES.c.run_id == run_id, CASES.c.position >= start)
    cases = _rows(connection, page.order_by(CASES.c.position).limit(cases_at_once))
    if not cases:
        return None
    between = (cases[0][0], cases[-1][0])
    samples = select(*_SAMPLE).where(SAMPLE_RESULTS.c.run_id == run_id, SAMPLE_RESULTS.c.position.between(*between))
    scores = select(*_SCORE).where(SCORES.c.run_id == run_id, SCORES.c.position.between(*between))
    by_metric = ordered(connection, SCORES.c.metric)
    return FlatBatch(
        run_id,
        cases,
        _rows(connection, samples.order_by(SAMPLE_RESULTS.c.position, SAMPLE_RESULTS.c.sample)),
        _rows(connection, scores.order_by(SCORES.c.position, SCORES.c.sample, by_metric)),
    )


def _rows(connection: Connection, wanted: Select[Any]) -> list[Any]:
    """Plain tuples as the driver makes them: rows of SQLAlchemy take half as long again."""
    return list(connection.execute(wanted).cursor.fetchall())


def _worst(connection: Connection, run_id: str, positions: Sequence[int], most_text: int) -> dict[int, WorstSample]:
    missed: dict[int, dict[int, dict[str, float]]] = {}
    scores = select(SCORES.c.position, SCORES.c.sample, SCORES.c.metric, SCORES.c.value).where(
        SCORES.c.run_id == run_id,
        SCORES.c.position.in_(positions),
        SCORES.c.passed.is_(False),
        SCORES.c.value.is_not(None),
    )
    for position, sample, metric, value in connection.execute(scores.order_by(SCORES.c.position, SCORES.c.sample)):
        missed.setdefault(position, {}).setdefault(sample, {})[metric] = value
    worst = {position: min(samples, key=lambda at: _rank(samples[at])) for position, samples in missed.items()}
    if not worst:
        return {}
    answer, reason = (func.substr(column, 1, most_text) for column in (SAMPLE_RESULTS.c.answer, SCORES.c.reason))
    answers = select(SAMPLE_RESULTS.c.position, answer).where(*_among(SAMPLE_RESULTS, run_id, worst))
    found = {
        position: WorstSample(worst[position], text, missed[position][worst[position]], {})
        for position, text in connection.execute(answers)
    }
    reasons = select(SCORES.c.position, SCORES.c.metric, reason).where(*_among(SCORES, run_id, worst))
    for position, metric, text in connection.execute(reasons.order_by(ordered(connection, SCORES.c.metric))):
        if text and metric in found[position].values:
            found[position].reasons[metric] = text
    return found


def _among(table: Table, run_id: str, samples: Mapping[int, int]) -> tuple[ColumnElement[bool], ...]:
    """Conditions for one sample of each case. By pairs alone, SQLite would read all rows of the run."""
    pairs = tuple_(table.c.position, table.c.sample).in_(list(samples.items()))
    return table.c.run_id == run_id, table.c.position.in_(list(samples)), pairs


def _rank(missed: dict[str, float]) -> tuple[int, float]:
    return -len(missed), sum(missed.values())
