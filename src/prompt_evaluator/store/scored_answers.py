"""Reads the scores of answers a few cases at a time, and single answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select, tuple_

from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import read_scores

if TYPE_CHECKING:
    from collections.abc import Sequence


class ScoredAnswer(NamedTuple):
    """A sample with an answer and without errors, and its scores."""

    sample: int
    scores: dict[str, float]
    """By metric; those without a value are absent."""


class ScoredAnswers(Access):
    """The part of the store that finds good and bad answers."""

    def scored_answers(self, run_id: str, first: int, last: int) -> dict[int, list[ScoredAnswer]]:
        """The samples of the cases from one position to another, by position, in order.

        Samples with an error, with a metric that failed, without a text or with calls of tools are left out.
        """
        row = SAMPLE_RESULTS.c
        samples = select(row.position, row.sample, row.scores).where(
            row.run_id == run_id,
            row.position.between(first, last),
            row.status == "completed",
            row.error_kind.is_(None),
            row.answer.is_not(None),
            row.answer != "",
            row.tool_calls.is_(None),
        )
        found: dict[int, list[ScoredAnswer]] = {}
        with self._read() as connection:
            for position, number, text in connection.execute(samples.order_by(row.position, row.sample)):
                scores = read_scores(text)
                if all(score.outcome != "failed" for score in scores.values()):
                    values = {metric: score.value for metric, score in scores.items() if score.value is not None}
                    found.setdefault(position, []).append(ScoredAnswer(number, values))
        return found

    def answers(self, run_id: str, samples: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """The answers of samples, by position and sample."""
        row = SAMPLE_RESULTS.c
        wanted = select(row.position, row.sample, row.answer).where(
            row.run_id == run_id,
            row.position.in_(sorted({position for position, _ in samples})),
            tuple_(row.position, row.sample).in_(list(samples)),
        )
        with self._read() as connection:
            return {(position, number): text for position, number, text in connection.execute(wanted)}
