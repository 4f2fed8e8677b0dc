"""Reads all results of a run as flat rows, some thousand samples at a time; decodes no units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, func, select, tuple_

from prompt_evaluator.model.flat_rows import CASE_COLUMNS, SAMPLE_COLUMNS, FlatBatch, WorstSample
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import StoredScore, read_judges, read_scores
from prompt_evaluator.store.schema import CASES, RUNS
from prompt_evaluator.store.texts import json_or_none
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

_SAMPLES_AT_ONCE = 5_000
_CALLED = {"test_case_id": "case_id", "output": "answer"}
"""Maps names of columns in tables for users to those of the store."""


def _columns(table: Table, names: Sequence[str]) -> list[Any]:
    return [table.c[_CALLED.get(name, name)] for name in names]


_CASE, _SAMPLE = _columns(CASES, CASE_COLUMNS), _columns(SAMPLE_RESULTS, SAMPLE_COLUMNS)


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
    samples = samples.order_by(SAMPLE_RESULTS.c.position, SAMPLE_RESULTS.c.sample)
    rows = _rows(connection, samples.add_columns(SAMPLE_RESULTS.c.scores, SAMPLE_RESULTS.c.judges))
    scores = [score for row in rows for score in _scores(*row[:2], *row[-2:])]
    return FlatBatch(run_id, cases, [row[:-2] for row in rows], scores)


def _scores(position: int, sample: int, scores: str | None, judges: str | None) -> Iterator[tuple[Any, ...]]:
    """In the order of `SCORE_COLUMNS`."""
    by_metric = read_judges(judges)
    for metric, score in sorted(read_scores(scores).items()):
        measured = (score.value, score.passed, score.outcome, score.reason)
        json = (json_or_none(score.details), json_or_none(score.repeats))
        yield (position, sample, metric, by_metric.get(metric), *measured, *json)


def _rows(connection: Connection, wanted: Select[Any]) -> list[Any]:
    """Plain tuples as the driver makes them: rows of SQLAlchemy take half as long again."""
    return list(connection.execute(wanted).cursor.fetchall())


def _worst(connection: Connection, run_id: str, positions: Sequence[int], most_text: int) -> dict[int, WorstSample]:
    worst: dict[int, tuple[int, dict[str, StoredScore]]] = {}
    """By position, the number of the sample and the scores that it misses, in order of their names."""
    row = SAMPLE_RESULTS.c
    failing = (row.run_id == run_id, row.position.in_(positions), row.passed.is_(False))
    wanted = select(row.position, row.sample, row.scores).where(*failing).order_by(row.position, row.sample)
    for position, sample, text in connection.execute(wanted):
        missed = {metric: score for metric, score in sorted(read_scores(text).items()) if score.passed is False}
        if position not in worst or _rank(missed) < _rank(worst[position][1]):
            worst[position] = sample, missed
    if not worst:
        return {}
    samples = {position: sample for position, (sample, _) in worst.items()}
    answers = select(row.position, func.substr(row.answer, 1, most_text)).where(*_among(run_id, samples))
    return {
        position: WorstSample(
            samples[position],
            answer,
            {metric: score.value for metric, score in worst[position][1].items() if score.value is not None},
            {metric: score.reason[:most_text] for metric, score in worst[position][1].items() if score.reason},
        )
        for position, answer in connection.execute(answers)
    }


def _among(run_id: str, samples: Mapping[int, int]) -> tuple[ColumnElement[bool], ...]:
    """Conditions for one sample of each case. By pairs alone, SQLite would read all rows of the run."""
    row = SAMPLE_RESULTS.c
    pairs = tuple_(row.position, row.sample).in_(list(samples.items()))
    return row.run_id == run_id, row.position.in_(list(samples)), pairs


def _rank(missed: Mapping[str, StoredScore]) -> tuple[int, float]:
    return -len(missed), sum(score.value or 0.0 for score in missed.values())
