"""Compares two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.compare.blocks import blocks
from prompt_evaluator.compare.case_table import CaseTable, TextColumn
from prompt_evaluator.compare.caveats import metric_caveats, run_caveats
from prompt_evaluator.compare.differs import differences
from prompt_evaluator.compare.flags import FlagTally
from prompt_evaluator.compare.metrics import MetricTally
from prompt_evaluator.compare.pairing import Rows
from prompt_evaluator.compare.refusing import refuse_different, refuse_nothing_common
from prompt_evaluator.compare.slices import SliceTally
from prompt_evaluator.model.comparison import Comparison

if TYPE_CHECKING:
    from prompt_evaluator.compare.blocks import Block
    from prompt_evaluator.model.comparison import CompareOptions, RunFacts
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
    for block in blocks(baseline, candidate, tally.rows):
        tally.add(block)
    return tally.finish()


class _Tally:
    """Adds up two runs block by block."""

    def __init__(self, baseline: RunFacts, candidate: RunFacts, options: CompareOptions) -> None:
        self._facts, self._options = (baseline, candidate), options
        self.rows = Rows()
        self._ids = TextColumn()
        self._metrics = {name: MetricTally(name, baseline, candidate) for name in (*baseline.scales, *candidate.scales)}
        self._flags: dict[str, FlagTally] = {}
        self._slices = SliceTally(options.slices)

    def add(self, block: Block) -> None:
        means = [
            found
            for name, sides in block.metrics.items()
            if (found := self._metric(name).add(block, sides, len(self._ids))) is not None
        ]
        for flag, raised in block.flags.items():
            self._flags.setdefault(flag, FlagTally()).add(block, raised)
        self._slices.add(block.kinds, means)
        self._ids.extend(block.ids)

    def _metric(self, name: str) -> MetricTally:
        if name not in self._metrics:
            self._metrics[name] = MetricTally(name, *self._facts)
        return self._metrics[name]

    def finish(self) -> Comparison:
        baseline, candidate = self._facts
        change, common = self.rows.change(), self.rows.common
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
            cases=CaseTable(self._ids, [metric.cases for metric in finished.values() if len(metric.cases.cases)]),
            slices=slices.slices,
            slice_comparisons=slices.compared,
            differs=differences(baseline, candidate, change),
            warnings=caveats,
        )
