"""What makes a comparison weaker, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.compare.refusing import allowed_difference
from prompt_evaluator.compare.sameness import PARTS, changed_metrics, is_same
from prompt_evaluator.hints import some_of
from prompt_evaluator.model.wording import listed, many, percent, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.compare.metrics import MetricTally
    from prompt_evaluator.model.comparison import DatasetChange, MetricComparison, RunFacts

_MANY_MISSING = 0.05
_UNEQUAL_MISSING = 0.01
"""Differences of the shares of missing scores that are worth a sentence."""
_MANY_METRICS = 5


def run_caveats(baseline: RunFacts, candidate: RunFacts, change: DatasetChange, common: int) -> Iterator[str]:
    """About the runs as a whole."""
    sides = (baseline, candidate)
    if baseline.run_id is not None and baseline.run_id == candidate.run_id:
        yield f"Both are results of the same run, {baseline.run_id}."
    yield from allowed_difference(baseline, candidate, change, common)
    yield from _unknown(sides)
    if changed := changed_metrics(baseline, candidate):
        yield f"Set up differently in the two runs, so not the same measure: {some_of(changed)}."
    if change.changed and baseline.dataset_hash in (None, candidate.dataset_hash):
        yield f"{many(change.changed, 'case')} changed between the runs and {_is(change.changed)} left out."
    for facts in sides:
        if facts.status not in (None, "completed"):
            yield f"{facts.name} is {facts.status}, not completed: cases and samples without scores are left out."
    if made_up := [facts.name for facts in sides if facts.synthetic]:
        yield f"Made up offline by the mock, not a model's results: {listed(dict.fromkeys(made_up))}."
    counts = baseline.num_samples, candidate.num_samples
    if None not in counts and counts[0] != counts[1]:
        yield f"The baseline has {many(counts[0] or 0, 'sample')} per case, the candidate {counts[1]}."


def metric_caveats(tallies: Iterable[MetricTally], compared: Sequence[MetricComparison]) -> Iterator[str]:
    """About single metrics, and about their number."""
    for tally in tallies:
        found = tally.scale
        if found.other is not None:
            scales = f"{_scale(found.scale)} in the baseline, {_scale(found.other)} in the candidate"
            yield f"{tally.name} is not compared: its scale is {scales}."
            continue
        yield from _missing(tally, found.scale)
    tested = sum(metric.p_value is not None for metric in compared)
    if tested >= _MANY_METRICS:
        yield f"{tested} metrics are tested, each at the 5 % level: one that barely differs may do so by chance."


def _unknown(sides: tuple[RunFacts, RunFacts]) -> Iterator[str]:
    unknown = [part for part in PARTS if is_same(part, *sides) is None]
    if unknown:
        yield f"Whether the {listed(unknown)} {'is' if len(unknown) == 1 else 'are'} the same is not known."


def _missing(tally: MetricTally, scale: tuple[float, float]) -> Iterator[str]:
    ours, theirs = tally.baseline.share_missing, tally.candidate.share_missing
    if tally.missing_side or not tally.expected:
        return
    if max(ours, theirs) <= _MANY_MISSING and abs(ours - theirs) <= _UNEQUAL_MISSING:
        return
    baseline, candidate = tally.baseline.extremes(scale), tally.candidate.extremes(scale)
    low = (candidate[0] - baseline[1]) / tally.expected
    high = (candidate[1] - baseline[0]) / tally.expected
    yield (
        f"{tally.name}: {percent(ours)} of the baseline's scores and {percent(theirs)} of the candidate's are missing; "
        "if these were the worst or best possible, the difference would be anywhere from "
        f"{signed(low, 2)} to {signed(high, 2)}."
    )


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _scale(scale: tuple[float, float]) -> str:
    return f"{scale[0]:g} to {scale[1]:g}"
