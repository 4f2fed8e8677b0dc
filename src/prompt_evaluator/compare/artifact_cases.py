"""Cases of a `dataset_evaluation.json` as a comparison sees them."""

from __future__ import annotations

from math import fsum, isfinite
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from prompt_evaluator.compare.artifact_parts import SampleScore, Stats, mapping, number, score_of, text
from prompt_evaluator.model.comparison import CaseScores, ComparedAnswer, ComparedCase
from prompt_evaluator.model.query import CaseFlag
from prompt_evaluator.model.run_facts import input_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.compare.artifact_parts import Case, FlagCounts, Sample

_TEXTS = ("rationale", "reason")


def compared_case(case: Case, num_samples: int | None) -> ComparedCase:
    """Convert a case; `num_samples` is what the run asked for, if known."""
    samples = case.samples or []
    question = case.test_case_input
    scores = _scores(case, samples, num_samples)
    latencies = [sample.latency_ms for sample in samples if sample.latency_ms is not None]
    costs = [cost for sample in samples for cost in map(number, (sample.cost, sample.judge_cost)) if cost is not None]
    return ComparedCase(
        case.test_case_id or "",
        None,
        mapping(case.test_case_metadata),
        scores,
        _flags(case, samples),
        input_hash(question) if isinstance(question, str) else None,
        {name: count for name, count in (case.missing_scores or {}).items() if count and name not in scores},
        fsum(costs) if costs and all(map(isfinite, costs)) else None,
        fmean(latencies) if latencies else None,
    )


def compared_answer(sample: dict[str, Any], at: int) -> ComparedAnswer:
    """Convert a sample with its texts."""
    entries = mapping(sample.get("judge_metrics")) | mapping(sample.get("scores"))
    scores = {name: number(entry.get("score") if isinstance(entry, dict) else entry) for name, entry in entries.items()}
    reasons = {name: _reason(entry) for name, entry in entries.items()}
    answer, error = sample.get("generator_output"), sample.get("error")
    return ComparedAnswer(
        sample=at,
        answer=answer if isinstance(answer, str) else None,
        error=text(error.get("message") if isinstance(error, dict) else error),
        scores={name: score for name, score in scores.items() if score is not None},
        reasons={name: reason for name, reason in reasons.items() if reason},
        flags=tuple(name for name, raised in mapping(sample.get("judge_flags")).items() if raised is True),
    )


def _reason(entry: Any) -> str | None:
    return next((found for name in _TEXTS if (found := text(mapping(entry).get(name)))), None)


def _scores(case: Case, samples: Sequence[Sample], num_samples: int | None) -> dict[str, CaseScores]:
    each: dict[str, list[float]] = {}
    passes: dict[str, list[bool | None]] = {}
    for sample in samples:
        for entries in (sample.judge_metrics, sample.scores):
            for name, entry in (entries or {}).items():
                if (score := score_of(entry)) is not None:
                    each.setdefault(name, []).append(score)
                    passes.setdefault(name, []).append(entry.passed if isinstance(entry, SampleScore) else None)
    stated = case.per_metric_stats or {}
    found = {}
    for name in (*stated, *(name for name in each if name not in stated)):
        stats = _stats(stated.get(name), each.get(name, []), passes.get(name, []), len(samples) or case.num_samples)
        if stats is not None:
            found[name] = stats_with_missing(stats, name, case, num_samples)
    return found


def _stats(
    stated: Stats | float | None, values: list[float], passes: list[bool | None], samples: int | None
) -> CaseScores | None:
    """Combine what is stated with the samples' own scores. What is stated wins: it says which samples count."""
    stats = stated if isinstance(stated, Stats) else Stats(mean=stated)
    mean = stats.mean if stats.mean is not None else fmean(values) if values else None
    count = stats.count if stats.count is not None else len(values) or samples or 1
    if mean is None or count < 1:
        return None
    known = values if len(values) == count else []
    std = stats.std if stats.std is not None else stdev(known) if len(known) > 1 else None
    passed = stats.passed
    if passed is None and known and None not in passes:
        passed = sum(map(bool, passes))
    return CaseScores(mean, std, count, passed, 0, tuple(known) if known else None)


def stats_with_missing(stats: CaseScores, name: str, case: Case, num_samples: int | None) -> CaseScores:
    """Add how many samples lack a score: as stated, or else as many as there are more samples than scores."""
    if case.missing_scores is not None:
        missing = case.missing_scores.get(name, 0)
    else:
        attempted = [sample for sample in case.samples or () if sample.status != "pending"]
        expected = len(attempted) or case.num_samples or num_samples or 0
        missing = max(0, expected - stats.count)
    return CaseScores(stats.mean, stats.std, stats.count, stats.passes, missing, stats.values) if missing else stats


def _flags(case: Case, samples: Sequence[Sample]) -> dict[str, CaseFlag]:
    each: dict[str, list[bool]] = {}
    for sample in samples:
        for name, raised in (sample.judge_flags or {}).items():
            if raised is not None:
                each.setdefault(name, []).append(raised)
    stated = case.per_flag_stats or {}
    found = {}
    for name in (*stated, *(name for name in each if name not in stated)):
        flag = _flag(stated.get(name), each.get(name, []), len(samples) or case.num_samples)
        if flag is not None and flag.asked > 0:
            found[name] = flag
    return found


def _flag(stated: FlagCounts | None, values: list[bool], samples: int | None) -> CaseFlag | None:
    counted = CaseFlag(raised=sum(values), asked=len(values)) if values else None
    if stated is None:
        return counted
    raised, asked = stated.true_count, stated.total_count
    if asked is None and raised is not None and stated.false_count is not None:
        asked = raised + stated.false_count
    if asked is None:
        asked = len(values) or samples
    if raised is None and asked is not None and stated.true_proportion is not None:
        raised = round(stated.true_proportion * asked)
    if raised is None or asked is None or not 0 <= raised <= asked:
        return counted
    return CaseFlag(raised=raised, asked=asked)
