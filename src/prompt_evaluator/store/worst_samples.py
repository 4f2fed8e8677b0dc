"""Reads what files of test results say about cases: their worst samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select, tuple_

from prompt_evaluator.model.worst_sample import WorstSample
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import StoredScore, read_scores
from prompt_evaluator.store.schema import RUNS
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection


class WorstSamples(Access):
    """The part of the store that explains failing cases."""

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

    def has_run(self, run_id: str) -> bool:
        """Whether the store has a run with exactly this id."""
        with self._read() as connection:
            return connection.scalar(select(RUNS.c.run_id).where(RUNS.c.run_id == run_id)) is not None


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
