"""Computes the result of a run from case results, added one at a time."""

from __future__ import annotations

import re
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from prompt_evaluator.model.result import FailureCount, OverallFlag, RunResult, RunTotals
from prompt_evaluator.pipeline.bars import missed_bars
from prompt_evaluator.pipeline.score_totals import SHOWN, FlagTotals, MetricTotals
from prompt_evaluator.pipeline.unscored import Unscored
from prompt_evaluator.pipeline.uses import rubric_key
from prompt_evaluator.stats.reducers import reducer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prompt_evaluator.model import Preparation, RunPlan, RunStatus
    from prompt_evaluator.model.result import CaseResult, SampleResult

_Reason: TypeAlias = tuple[str | None, str, str]
"""Metric, class and message of an error; numbers in the message, such as times and request ids, are ignored."""
_NUMBER = re.compile(r"\d+")
_COMPARED = 200
_MOST_REASONS = 1_000
"""Beyond this many, errors are distinguished by metric and class only."""
_PARTS = 2**70
"""Parts of a dollar in which costs are summed."""


class Totals:
    """Adds up cases in any order, with the same result, keeping a few numbers of each."""

    def __init__(self, plan: RunPlan, prepared: Iterable[Preparation] = ()) -> None:
        """Start with what was paid for but does not belong to a case."""
        self._plan = plan
        self._criteria = [criterion.name for criterion in plan.rubric.metrics] if plan.rubric else []
        self._metrics = {
            criterion.name: MetricTotals(criterion.name, (criterion.min_score, criterion.max_score))
            for criterion in (plan.rubric.metrics if plan.rubric else ())
        }
        self._flags: dict[str, FlagTotals] = {
            flag.name: FlagTotals() for flag in (plan.rubric.flags if plan.rubric else ())
        }
        self._reducers = {name: reducer(name) for name in plan.reducers}
        self._order: dict[str, tuple[int, int]] = {}
        """Position of the first case with each score, and the score's place there."""
        self._unscored = Unscored(rubric_key(plan))
        self._cases: Counter[str] = Counter()
        self._samples: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._failures: Counter[_Reason] = Counter()
        self._messages: dict[_Reason, tuple[int, str]] = {}
        """With the position of the case: the message of the first one is shown."""
        self._measured = False
        self._input = self._output = self._cached = self._unpriced = self._reused = 0
        self._time_outs = 0
        self._cost = 0
        """In whole parts of a dollar, so that the sum is the same in any order."""
        self._priced = 0
        self.add_prepared(prepared)

    def add(self, position: int, case: CaseResult) -> None:
        """Count a case; `position` is its place in the file. Call it once per case."""
        self._cases[case.status] += 1
        for sample in case.samples:
            self._add_sample(position, sample)
        if case.status == "pending":
            return
        for place, name in enumerate((*case.per_metric_stats, *case.missing_scores)):
            self._order[name] = min(self._order.get(name, (position, place)), (position, place))
            if name not in self._metrics:
                scale = self._plan.scale(name)
                self._metrics[name] = MetricTotals(name, (scale.low, scale.high))
        for totals in self._metrics.values():
            totals.add(case, self._reducers)
        for name, flags in self._flags.items():
            flags.add(case, name)

    def add_prepared(self, prepared: Iterable[Preparation]) -> None:
        """Count what was paid for but does not belong to a case."""
        for reply in (reply for made in prepared for reply in made.replies):
            self._input += reply.usage.input_tokens or 0
            self._output += reply.usage.output_tokens or 0
            self._cached += reply.usage.cached_tokens
            self._time_outs += reply.time_outs or 0
            self._pay(reply.cost)

    def add_stopped(self, time_outs: int, cost: float | None) -> None:
        """Count what was, or may have been, billed for stopped calls, which have no unit."""
        self._time_outs += time_outs
        if cost is not None:
            self._pay(cost)

    def _pay(self, cost: float | None) -> None:
        if cost is None:
            self._unpriced += 1
        else:
            self._cost += round(cost * _PARTS)
            self._priced += 1

    def _add_sample(self, position: int, sample: SampleResult) -> None:
        self._samples[sample.status] += 1
        self._unscored.add(position, sample)
        self._outcomes.update(_outcomes(sample))
        if sample.sent and sample.sent.left_out:
            self._refused.update(left.field for left in sample.sent.left_out if left.reason == "learned")
        if sample.error is not None:
            self._errors[sample.error.kind] += 1
            key = (sample.error_metric, sample.error.kind, _NUMBER.sub("0", sample.error.message[:_COMPARED]))
            if key not in self._failures and len(self._failures) >= _MOST_REASONS:
                key = (*key[:2], "")
            self._failures[key] += 1
            message = (position, sample.error.message)
            self._messages[key] = min(self._messages.get(key, message), message, key=itemgetter(0))
        self._measured = self._measured or bool(sample.passes())
        self._input += (sample.input_tokens or 0) + (sample.judge_input_tokens or 0)
        self._output += (sample.output_tokens or 0) + (sample.judge_output_tokens or 0)
        self._cached += sample.cached_tokens + sample.judge_cached_tokens
        self._reused += sample.reused
        self._unpriced += sample.unpriced_calls
        self._time_outs += sample.time_outs
        for cost in (sample.cost, sample.judge_cost):
            if cost is not None:
                self._pay(cost)
        self._cost -= round((sample.reused_cost or 0.0) * _PARTS)

    def status(self) -> RunStatus:
        """Status in the terms of the dataset guide, once nothing is pending."""
        if set(self._cases) <= {"completed"}:
            return "completed"
        return "partial" if self._samples["completed"] or self._measured else "failed"

    @property
    def pending(self) -> bool:
        """Whether any case is unfinished."""
        return self._by_status()[0].get("pending", 0) > 0

    def result(self, status: RunStatus) -> RunResult:
        others = sorted(self._metrics.keys() - self._criteria, key=self._order.__getitem__)
        metrics = {name: found for name in (*self._criteria, *others) if (found := self._metrics[name]).is_measured}
        plan, skipped = self._plan, self._unscored.skipped
        overall = {
            name: totals.overall(plan.fail_under.get(name), skipped.get(name, 0)) for name, totals in metrics.items()
        }
        flags = {name: totals.overall(plan.fail_over.get(name)) for name, totals in self._flags.items()}
        not_measured = self._not_measured(overall, flags)
        return RunResult(
            run_id=plan.run_id,
            status=status,
            overall_metric_stats=overall,
            overall_flag_stats=flags,
            not_measured=not_measured,
            missed_bars=tuple(missed_bars(plan, overall, flags, not_measured)),
            totals=self._totals(),
            worst=tuple(
                sorted(
                    (w for t in metrics.values() for w in t.worst()),
                    key=lambda w: (metrics[w.metric].share_of_scale(w.mean), w.test_case_id),
                )
            )[:SHOWN],
            flakiest=tuple(
                sorted(
                    (w for t in metrics.values() for w in t.flakiest()),
                    key=lambda w: (-(w.std or 0) / metrics[w.metric].range, w.test_case_id),
                )
            )[:SHOWN],
        )

    def _not_measured(self, metrics: Mapping[str, object], flags: Mapping[str, OverallFlag]) -> dict[str, str]:
        judged = [name for name in self._criteria if name not in metrics]
        judged += [name for name, flag in flags.items() if not flag.total_count]
        others = sorted(self._metrics.keys() - self._criteria, key=self._order.__getitem__)
        known = dict.fromkeys((*others, *self._unscored.metrics))
        return self._unscored.reasons([name for name in known if name not in metrics], judged)

    def _by_status(self) -> tuple[dict[str, int], dict[str, int]]:
        """Cases and samples, including those not started."""
        cases, samples = Counter(self._cases), Counter(self._samples)
        not_begun = self._plan.dataset.selected - cases.total()
        cases["pending"] += not_begun
        samples["pending"] += not_begun * self._plan.num_samples
        return dict(sorted((+cases).items())), dict(sorted((+samples).items()))

    def _totals(self) -> RunTotals:
        cases, samples = self._by_status()
        tried = self._samples.total() - self._samples["pending"]
        return RunTotals(
            cases=cases,
            samples=samples,
            errors=dict(sorted(self._errors.items())),
            failures=tuple(
                FailureCount(metric=key[0], kind=key[1], message=self._messages[key][1], count=count)
                for key, count in sorted(self._failures.items(), key=self._most_frequent)[:SHOWN]
            ),
            reasons=len(self._failures),
            error_share=1 - self._samples["completed"] / tried if tried else 0.0,
            input_tokens=self._input,
            output_tokens=self._output,
            cached_tokens=self._cached,
            cost=max(0.0, self._cost / _PARTS) if self._priced else None,
            unpriced_calls=self._unpriced,
            time_outs=self._time_outs,
            reused_units=self._reused,
            skipped=dict(sorted(self._unscored.skipped.items())),
            refused_parameters=dict(sorted(self._refused.items())),
            outcomes=dict(sorted(self._outcomes.items())),
        )

    def _most_frequent(self, failure: tuple[_Reason, int]) -> tuple[int, int, str]:
        """Sort key: the most frequent first, then the first in the file."""
        key, count = failure
        return -count, self._messages[key][0], str(key)


def _outcomes(sample: SampleResult) -> Iterator[str]:
    """What is worth counting of how an answer ended."""
    outcome = sample.outcome
    if outcome is None:
        return
    empty = not (sample.generator_output or "").strip() and not sample.tool_calls
    if outcome not in ("stop", "tool_calls"):
        yield outcome
        if empty and outcome == "length":
            yield "empty_length"
    elif empty:
        yield "empty"
