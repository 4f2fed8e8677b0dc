"""Reads what a pairwise comparison of two runs needs, and what the judge said in it."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from prompt_evaluator.model.pairwise import BASELINE_FIRST, CANDIDATE_FIRST, Pair
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import StoredScore, read_scores
from prompt_evaluator.store.schema import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Row, Select

_CASES_AT_ONCE = 256
_NOT_GENERATED = "NotGenerated"
"""The error of a sample to which the baseline has no answer."""
_NO_SCORE = StoredScore()


def read_pairs(connection: Connection, run_id: str) -> Iterator[list[Pair]]:
    """Yield the pairs of each case that has any, in file order; those still to be judged are left out."""
    wanted = _pairs(run_id)
    last = connection.scalar(select(func.max(SAMPLE_RESULTS.c.position)).where(SAMPLE_RESULTS.c.run_id == run_id))
    for start in range(0, -1 if last is None else last + 1, _CASES_AT_ONCE):
        here = SAMPLE_RESULTS.c.position.between(start, start + _CASES_AT_ONCE - 1)
        rows = connection.execute(wanted.where(here)).all()
        for _, case in groupby(rows, attrgetter("position")):
            if pairs := [_pair(row) for row in case if row.status != "pending"]:
                yield pairs


def read_content_hashes(connection: Connection, run_id: str, case_ids: Sequence[str]) -> dict[str, str]:
    """Content hashes by case id; cases that the run does not have are absent."""
    wanted = select(CASES.c.case_id, CASES.c.content_hash).where(
        CASES.c.run_id == run_id, CASES.c.case_id.in_(case_ids)
    )
    return {row.case_id: row.content_hash for row in connection.execute(wanted)}


def _pairs(run_id: str) -> Select[Any]:
    row = SAMPLE_RESULTS.c
    wanted = select(row.position, row.status, row.error_kind, row.scores).where(row.run_id == run_id)
    return wanted.order_by(row.position, row.sample)


def _pair(row: Row[Any]) -> Pair:
    scores = read_scores(row.scores)
    candidate_first, baseline_first = (scores.get(name, _NO_SCORE) for name in (CANDIDATE_FIRST, BASELINE_FIRST))
    return Pair(
        candidate_first.value,
        baseline_first.value,
        is_same=bool(candidate_first.details.get("same")),
        has_answers=row.status != "generation_error" and row.error_kind != _NOT_GENERATED,
    )
