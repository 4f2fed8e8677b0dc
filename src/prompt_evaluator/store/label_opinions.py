"""Reads what judges said about samples, to draw some of them for labelling and to compare people with judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import and_, join, select

from prompt_evaluator.model.label import AnswerKey
from prompt_evaluator.model.labelling import Candidate, Opinion
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import StoredScore, read_judges, read_scores
from prompt_evaluator.store.schema import CASES
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAMPLE = SAMPLE_RESULTS.c
_ANSWER = (CASES.c.case_id, _SAMPLE.sample, _SAMPLE.attempt)
_OF_CASES = join(SAMPLE_RESULTS, CASES, and_(CASES.c.run_id == _SAMPLE.run_id, CASES.c.position == _SAMPLE.position))
_NO_SCORE = StoredScore()
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
        wanted = select(*_ANSWER, _SAMPLE.flags, _SAMPLE.scores).select_from(_OF_CASES)
        wanted = wanted.where(_SAMPLE.run_id == run_id, _SAMPLE.answer.is_not(None))
        with self._read() as connection:
            rows = connection.execute(wanted.order_by(_SAMPLE.position, _SAMPLE.sample))
            found = (_candidate(judged, AnswerKey(*row[:3]), *row[3:]) for row in rows)
            return [candidate for candidate in found if candidate is not None]

    def opinions(self, run_id: str, judged: Judged, case_ids: Iterable[str]) -> dict[AnswerKey, Opinion]:
        """What was said about all samples of these cases that have a score."""
        found: dict[AnswerKey, Opinion] = {}
        said = select(*_ANSWER, _SAMPLE.flags, _SAMPLE.comment, _SAMPLE.scores, _SAMPLE.judges).select_from(_OF_CASES)
        with self._read() as connection:
            for chunk in chunks(sorted(set(case_ids))):
                for row in connection.execute(said.where(_SAMPLE.run_id == run_id, CASES.c.case_id.in_(chunk))):
                    if opinion := _opinion(judged, *row[3:]):
                        found[AnswerKey(*row[:3])] = opinion
        return found


def _candidate(judged: Judged, answer: AnswerKey, flags: str | None, scores: str | None) -> Candidate | None:
    if judged.is_flag:
        raised = _flags(flags).get(judged.name) if flags else None
        return Candidate(answer, None, None) if raised is None else Candidate(answer, float(raised), not raised)
    score = read_scores(scores).get(judged.name, _NO_SCORE if judged.everywhere else None)
    if score is None or score.outcome == "skipped":
        return None
    return Candidate(answer, score.value, score.passed, score.repeats or ())


def _opinion(
    judged: Judged, flags: str | None, comment: str | None, scores: str | None, judges: str | None
) -> Opinion | None:
    if judged.is_flag:
        raised = _flags(flags).get(judged.name) if flags else None
        return None if raised is None else Opinion(value=float(raised), passed=not raised, reason=comment or "")
    score = read_scores(scores).get(judged.name, _NO_SCORE)
    if score.value is None:
        return None
    return Opinion(
        value=score.value,
        passed=score.passed,
        reason=score.reason,
        judge=read_judges(judges).get(judged.name),
        repeats=score.repeats or (),
    )
