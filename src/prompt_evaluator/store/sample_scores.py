"""The scores of a sample, which are one text in its row.

With a row for each, most rows of a run would be scores, and writing them half of the work. The text is JSON, with the
scores by metric as in artifacts: encoding what is there is several times as fast as making something else of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from prompt_evaluator.model.result import CriterionScore, MetricScore
from prompt_evaluator.store.texts import as_json, clean, json_of_clean, storable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.model.result import CaseResult, RepeatResult, SampleResult

    Scores = Mapping[str, CriterionScore | MetricScore]


class StoredScore(msgspec.Struct, frozen=True, gc=False):
    """One score of a sample."""

    value: float | None = msgspec.field(default=None, name="score")
    passed: bool | None = None
    outcome: Literal["scored", "skipped", "failed"] = msgspec.field(default="scored", name="status")
    rationale: str = ""
    """A judge's reason, if it is about a criterion of the rubric."""
    metric_reason: str = msgspec.field(default="", name="reason")
    details: dict[str, Any] = {}
    repeats: tuple[float | None, ...] | None = None
    """The score of each judgement, if the answer was judged more than once."""

    @property
    def reason(self) -> str:
        return self.rationale or self.metric_reason


class _Value(msgspec.Struct, gc=False):
    score: float | None = None


_decode = msgspec.json.Decoder(dict[str, StoredScore]).decode
_decode_values = msgspec.json.Decoder(dict[str, _Value]).decode
_decode_judges = msgspec.json.Decoder(dict[str, str]).decode


def read_scores(text: str | None) -> dict[str, StoredScore]:
    """By metric."""
    return _decode(text) if text else {}


def read_values(text: str | None) -> dict[str, float]:
    """Of the scores that have one, by metric."""
    if not text:
        return {}
    return {name: score.score for name, score in _decode_values(text).items() if score.score is not None}


def read_judges(text: str | None) -> dict[str, str]:
    """The judge model of each metric that has one. It may include metrics without a score."""
    return _decode_judges(text) if text else {}


def plain_scores(samples: Sequence[SampleResult]) -> list[str | None] | None:
    """The scores of samples as they are; None if a name or a reason cannot be encoded."""
    try:
        return [_text(sample, _scores(sample)) for sample in samples]
    except UnicodeEncodeError:
        return None


def clean_scores(sample: SampleResult) -> str | None:
    """The scores of a sample, cleaned."""
    return _text(sample, {storable(name): _cleaned(score) for name, score in _scores(sample).items()})


def _text(sample: SampleResult, scores: Scores) -> str | None:
    if sample.scores and any(score.details for score in sample.scores.values()):
        return as_json(scores)
    return json_of_clean(scores) if scores else None


def _scores(sample: SampleResult) -> Scores:
    """All of them; those of the rubric with the scores of each judgement, if there were several."""
    if not sample.judge_repeats:
        return {**sample.judge_metrics, **sample.scores} if sample.scores else sample.judge_metrics
    criteria = {
        name: MetricScore(
            status="scored",
            score=mark.score,
            passed=mark.passed,
            reason=mark.rationale,
            repeats=_repeats(name, sample.judge_repeats),
        )
        for name, mark in sample.judge_metrics.items()
    }
    return {**criteria, **sample.scores}


def _cleaned(score: CriterionScore | MetricScore) -> CriterionScore | MetricScore:
    if isinstance(score, CriterionScore):
        return msgspec.structs.replace(score, rationale=clean(score.rationale))
    return msgspec.structs.replace(score, reason=clean(score.reason))


def _repeats(name: str, repeats: Sequence[RepeatResult]) -> tuple[float | None, ...]:
    scores = [repeat.metrics.get(name) if repeat.metrics else None for repeat in repeats]
    return tuple(score.score if score else None for score in scores)


def all_pass(sample: SampleResult) -> bool | None:
    """Whether all scores that have a mark to reach do; None if none has one."""
    found = None
    for mark in sample.judge_metrics.values():
        if mark.passed is False:
            return False
        found = found or mark.passed
    for score in sample.scores.values():
        if score.passed is False:
            return False
        found = found or score.passed
    return found


def judges_text(case: CaseResult, judges: Mapping[str, str]) -> str | None:
    """Encode who gave the scores of a case. `judges` has the model by metric."""
    found = {storable(name): judges[name] for name in (*case.per_metric_stats, *case.missing_scores) if name in judges}
    return json_of_clean(found) if found else None


def is_judged(sample: SampleResult, judges: Mapping[str, str]) -> bool:
    """Whether a judge gave one of the scores."""
    return bool(sample.judge_metrics) or any(name in judges for name in sample.scores)
