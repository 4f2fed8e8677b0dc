"""Reads the scores of answers a few cases at a time, and single answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select, tuple_

from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS, SCORES

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
        row, score = SAMPLE_RESULTS.c, SCORES.c
        samples = select(row.position, row.sample).where(
            row.run_id == run_id,
            row.position.between(first, last),
            row.status == "completed",
            row.error_kind.is_(None),
            row.answer.is_not(None),
            row.answer != "",
            row.tool_calls.is_(None),
        )
        scores = select(score.position, score.sample, score.metric, score.value, score.outcome).where(
            score.run_id == run_id, score.position.between(first, last)
        )
        with self._read() as connection:
            found = {(at, number): ScoredAnswer(number, {}) for at, number in connection.execute(samples)}
            for position, number, metric, value, outcome in connection.execute(scores):
                if outcome == "failed":
                    found.pop((position, number), None)
                elif value is not None and (answer := found.get((position, number))):
                    answer.scores[metric] = value
        by_case: dict[int, list[ScoredAnswer]] = {}
        for position, number in sorted(found):
            by_case.setdefault(position, []).append(found[position, number])
        return by_case

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
