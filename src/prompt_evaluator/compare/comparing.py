"""Compares two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.compare.case_table import CaseTable, TextColumn
from prompt_evaluator.compare.caveats import metric_caveats, run_caveats
from prompt_evaluator.compare.differs import differences
from prompt_evaluator.compare.flags import FlagTally
from prompt_evaluator.compare.metrics import MetricTally
from prompt_evaluator.compare.pairing import Pair, Rows, pairs
from prompt_evaluator.compare.refusing import refuse_different, refuse_nothing_common
from prompt_evaluator.compare.slices import CaseMeans, SliceTally
from prompt_evaluator.model.comparison import Comparison

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import ComparedCase, CompareOptions, RunFacts
    from prompt_evaluator.ports import ComparedRun


def compare(baseline: ComparedRun, candidate: ComparedRun, options: CompareOptions) -> Comparison:
    """Compare two runs in one pass over their cases, holding a few numbers per case and metric.

    Raises:
        IncomparableError: Dataset, rubric or judge differ and that is not allowed, or no case is common to both.
        UnknownNameError: No common case has one of the metadata keys to slice by.
    """
    ours, theirs = baseline.facts, candidate.facts
    if not options.allow_different:
        refuse_different(ours, theirs)
    tally = _Tally(ours, theirs, options)
    for pair in pairs(baseline, candidate):
        tally.add(pair)
    return tally.finish()


class _Tally:
    """Adds up two runs case by case."""

    def __init__(self, baseline: RunFacts, candidate: RunFacts, options: CompareOptions) -> None:
        self._facts, self._options = (baseline, candidate), options
        self._rows = Rows()
        self._ids = TextColumn()
        self._metrics = {name: MetricTally(name, baseline, candidate) for name in (*baseline.scales, *candidate.scales)}
        self._flags: dict[str, FlagTally] = {}
        self._slices = SliceTally(options.slices)

    def add(self, pair: Pair) -> None:
        common = self._rows.add(pair)
        means = self._add_scores(pair.baseline, pair.candidate, common=common)
        self._add_flags(pair.baseline, pair.candidate, common=common)
        if common and pair.baseline and pair.candidate:
            self._ids.append(pair.baseline.case_id)
            self._slices.add(pair.baseline.metadata or pair.candidate.metadata, means)

    def _add_scores(
        self, baseline: ComparedCase | None, candidate: ComparedCase | None, *, common: bool
    ) -> list[CaseMeans]:
        first = baseline.scores if baseline else {}
        second = candidate.scores if candidate else {}
        means = []
        for name in first | second:
            ours, theirs = first.get(name), second.get(name)
            if name not in self._metrics:
                self._metrics[name] = MetricTally(name, *self._facts)
            metric = self._metrics[name]
            metric.add(ours, theirs)
            if common and metric.add_common(len(self._ids), ours, theirs) and ours and theirs:
                means.append(CaseMeans(name, ours.mean, theirs.mean))
        return means

    def _add_flags(self, baseline: ComparedCase | None, candidate: ComparedCase | None, *, common: bool) -> None:
        first = baseline.flags if baseline else {}
        second = candidate.flags if candidate else {}
        for name in first | second:
            if name not in self._flags:
                self._flags[name] = FlagTally()
            self._flags[name].add(first.get(name), second.get(name), common=common)

    def finish(self) -> Comparison:
        baseline, candidate = self._facts
        change, common = self._rows.change(), self._rows.common
        if not common:
            refuse_nothing_common(baseline, candidate, change)
        finished = {name: tally.finish(self._options.metric_threshold) for name, tally in self._metrics.items()}
        metrics = {name: metric.comparison for name, metric in finished.items()}
        slices = self._slices.finish({name: metric.measure for name, metric in finished.items()})
        caveats = (
            *run_caveats(baseline, candidate, change, common),
            *metric_caveats(self._metrics.values(), tuple(metrics.values())),
        )
        return Comparison(
            baseline=baseline,
            candidate=candidate,
            common_cases=common,
            metrics=metrics,
            flags={name: tally.finish(self._options.flag_threshold) for name, tally in self._flags.items()},
            cases=CaseTable(self._ids, [metric.cases for metric in finished.values() if metric.cases.cases]),
            slices=slices.slices,
            slice_comparisons=slices.compared,
            differs=differences(baseline, candidate, change),
            warnings=caveats,
        )
