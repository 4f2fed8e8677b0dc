"""Reads what judges said about samples, to draw some of them for labelling and to compare people with judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import and_, select

from prompt_evaluator.model.labelling import Candidate, Opinion
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS, SCORES
from prompt_evaluator.store.schema import CASES
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Select

_SAMPLE, _SCORE = SAMPLE_RESULTS.c, SCORES.c
_repeats = msgspec.json.Decoder(tuple[float | None, ...]).decode
_flags = msgspec.json.Decoder(dict[str, bool]).decode


class Judged(NamedTuple):
    """What is labelled: a flag of the rubric, or a score."""

    name: str
    is_flag: bool
    everywhere: bool
    """Whether all cases have it; otherwise only those that ask for it."""


class LabelOpinions(Access):
    """The part of the store that knows what judges said."""

    def label_candidates(self, run_id: str, judged: Judged) -> list[Candidate]:
        """All samples of a run that have an answer and that the metric is about, in dataset order."""
        wanted = _samples(judged).where(_SAMPLE.run_id == run_id, _SAMPLE.answer_hash.is_not(None))
        with self._read() as connection:
            rows = connection.execute(wanted.order_by(_SAMPLE.position, _SAMPLE.sample))
            if judged.is_flag:
                return [_flagged(judged.name, *row) for row in rows]
            return [
                Candidate(position, sample, attempt, value, passed, _repeats(repeats) if repeats else ())
                for position, sample, attempt, value, passed, repeats, outcome in rows
                if outcome != "skipped"
            ]

    def opinions(self, run_id: str, judged: Judged, case_ids: Iterable[str]) -> dict[tuple[str, int, int], Opinion]:
        """What was said about all samples of these cases, by case, sample and attempt; only those with a score."""
        found: dict[tuple[str, int, int], Opinion] = {}
        with self._read() as connection:
            for chunk in chunks(sorted(set(case_ids))):
                for row in connection.execute(_said(run_id, judged, chunk)).mappings():
                    opinion = _opinion(judged, dict(row))
                    if opinion is not None:
                        found[row["case_id"], row["sample"], row["attempt"]] = opinion
        return found


def _samples(judged: Judged) -> Select[Any]:
    own = [_SAMPLE.position, _SAMPLE.sample, _SAMPLE.attempt]
    if judged.is_flag:
        return select(*own, _SAMPLE.flags)
    scores = select(*own, _SCORE.value, _SCORE.passed, _SCORE.repeats, _SCORE.outcome)
    return scores.join(SCORES, _score_of(judged.name), isouter=judged.everywhere)


def _score_of(metric: str) -> Any:
    same = (_SCORE.run_id == _SAMPLE.run_id, _SCORE.position == _SAMPLE.position, _SCORE.sample == _SAMPLE.sample)
    return and_(*same, _SCORE.metric == metric)


def _flagged(name: str, position: int, sample: int, attempt: int, flags: str | None) -> Candidate:
    raised = _flags(flags).get(name) if flags else None
    value = None if raised is None else float(raised)
    return Candidate(position, sample, attempt, value, None if raised is None else not raised)


def _said(run_id: str, judged: Judged, case_ids: Sequence[str]) -> Select[Any]:
    case = and_(CASES.c.run_id == _SAMPLE.run_id, CASES.c.position == _SAMPLE.position)
    columns = [CASES.c.case_id, _SAMPLE.sample, _SAMPLE.attempt]
    if judged.is_flag:
        wanted = select(*columns, _SAMPLE.flags, _SAMPLE.comment).select_from(SAMPLE_RESULTS).join(CASES, case)
    else:
        scored = [_SCORE.value, _SCORE.passed, _SCORE.reason, _SCORE.judge, _SCORE.repeats]
        both = SAMPLE_RESULTS.join(CASES, case).join(SCORES, _score_of(judged.name))
        wanted = select(*columns, *scored).select_from(both)
    return wanted.where(_SAMPLE.run_id == run_id, CASES.c.run_id == run_id, CASES.c.case_id.in_(case_ids))


def _opinion(judged: Judged, row: dict[Any, Any]) -> Opinion | None:
    if judged.is_flag:
        raised = _flags(row["flags"]).get(judged.name) if row["flags"] else None
        if raised is None:
            return None
        return Opinion(value=float(raised), passed=not raised, reason=row["comment"] or "")
    if row["value"] is None:
        return None
    repeats = _repeats(row["repeats"]) if row["repeats"] else ()
    return Opinion(
        value=row["value"], passed=row["passed"], reason=row["reason"] or "", judge=row["judge"], repeats=repeats
    )
