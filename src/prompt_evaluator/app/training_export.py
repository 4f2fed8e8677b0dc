"""Exports the best and the worst answer of each case as preference pairs, to train a model with."""

from __future__ import annotations

from contextlib import closing
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import REDACTOR, Message
from prompt_evaluator.pipeline.messages import RequestBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.store import Store, StoredCase
    from prompt_evaluator.store.scored_answers import ScoredAnswer

_CASES_AT_ONCE = 128
_ROUNDING = 1e-9
"""Scores that differ by less are equal: means of the same numbers may differ in their last digit."""
_encode = msgspec.json.Encoder().encode


class PreferencePair(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the export."""

    prompt: tuple[Message, ...]
    """What was sent: the system prompt and the conversation."""
    chosen: str
    rejected: str
    case_id: str
    metric: str | None
    """None if answers are ranked by the mean of all metrics."""
    chosen_score: float
    rejected_score: float
    run_id: str
    model: str


class _Pair(NamedTuple):
    stored: StoredCase
    best: tuple[int, float]
    """Sample and score."""
    worst: tuple[int, float]


def export_training(settings: Settings, run_id: str, metric: str | None = None) -> Iterator[bytes]:
    """The best and the worst answer of each case, one `PreferencePair` per line as JSON.

    Answers are ranked by one metric, or by the mean of all metrics of the case, each scaled to 0..1. Answers with an
    error or without one of these scores are never used, nor are empty ones and calls of tools. A case gives no pair if
    its best and worst answers have the same score or the same text.

    Args:
        settings: Of the store.
        run_id: A run's name.
        metric: What to rank by; None for the mean of all.

    Raises:
        UnknownNameError: There is no such run, or it has no such metric. Raised when called, not on the first line.
        ConfigurationError: The run compares answers in pairs, and has no scores of single ones.
    """
    with closing(open_store(settings)) as store:
        line = store.run_line(run_id)
        if line.kind == "pairwise":
            what = f"Run {line.run_id} compares answers in pairs, and has no scores of single answers to rank them by."
            raise ConfigurationError(f"{what} Give one of the two runs that it compares.")
        measured = line.summary.overall_metric_stats if line.summary else {}
        if metric is not None and metric not in measured:
            raise UnknownNameError("metric", metric, measured)
        plan = store.run(line.run_id).plan
    return _lines(settings, plan, metric)


def _lines(settings: Settings, plan: RunPlan, metric: str | None) -> Iterator[bytes]:
    requests = RequestBuilder(plan.target, plan.target.model)
    with closing(open_store(settings)) as store:
        start = 0
        while cases := store.cases(plan.run_id, start=start, limit=_CASES_AT_ONCE):
            for pair in _written(store, plan, _pairs(store, plan, cases, metric), metric, requests):
                yield REDACTOR.bytes(_encode(pair)) + b"\n"
            start = cases[-1].position + 1


def _pairs(store: Store, plan: RunPlan, cases: Sequence[StoredCase], metric: str | None) -> list[_Pair]:
    by_case = store.scored_answers(plan.run_id, cases[0].position, cases[-1].position)
    found = []
    for stored in cases:
        scores = _scores(plan, by_case.get(stored.position, []), metric)
        if not scores:
            continue
        best, worst = max(scores, key=lambda each: each[1]), min(scores, key=lambda each: each[1])
        if best[1] - worst[1] > _ROUNDING:
            found.append(_Pair(stored, best, worst))
    return found


def _scores(plan: RunPlan, answers: Sequence[ScoredAnswer], metric: str | None) -> list[tuple[int, float]]:
    """Sample and score of each answer that has all the scores it is ranked by."""
    if metric is not None:
        return [(each.sample, each.scores[metric]) for each in answers if metric in each.scores]
    names = {name for each in answers for name in each.scores}
    return [(each.sample, _mean(plan, each.scores)) for each in answers if each.scores and each.scores.keys() == names]


def _mean(plan: RunPlan, scores: dict[str, float]) -> float:
    shares = []
    for name, value in scores.items():
        scale = plan.scale(name)
        shares.append((value - scale.low) / (scale.high - scale.low) if scale.high > scale.low else value)
    return fmean(shares)


def _written(
    store: Store, plan: RunPlan, pairs: Sequence[_Pair], metric: str | None, requests: RequestBuilder
) -> Iterator[PreferencePair]:
    wanted = [(pair.stored.position, sample) for pair in pairs for sample, _ in (pair.best, pair.worst)]
    texts = store.answers(plan.run_id, wanted) if wanted else {}
    for pair in pairs:
        chosen, rejected = (texts[pair.stored.position, sample] for sample, _ in (pair.best, pair.worst))
        if chosen.strip() == rejected.strip():
            continue
        yield PreferencePair(
            prompt=requests.request(pair.stored.case, 0).messages,
            chosen=chosen,
            rejected=rejected,
            case_id=pair.stored.case.id,
            metric=metric,
            chosen_score=pair.best[1],
            rejected_score=pair.worst[1],
            run_id=plan.run_id,
            model=plan.target.model,
        )
