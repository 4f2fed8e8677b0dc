"""Counts the progress of a run."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from prompt_evaluator.model import RunProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import RunPlan, SampleStatus
    from prompt_evaluator.model.result import CaseResult, RunResult


class Counts:
    """Counts samples, cases and errors, at the cost of a few additions per sample."""

    def __init__(self, plan: RunPlan, clock: Callable[[], float] = time.monotonic) -> None:
        self.cases = plan.dataset.selected
        self.samples = self.cases * plan.num_samples
        self.samples_done = self.cases_done = 0
        self._unscored = 0
        self._errors: Counter[str] = Counter()
        self._clock = clock
        self._last = (clock(), 0)
        self._found = 0

    def sample_done(self, status: SampleStatus) -> None:
        self.samples_done += 1
        self._unscored += status != "completed"

    def sample_found(self, status: SampleStatus) -> None:
        """Count a sample that was already finished; it does not count towards the rate."""
        self.sample_done(status)
        self._found += 1

    def case_done(self, result: CaseResult) -> None:
        self.cases_done += 1
        if result.error_message is not None:
            self._errors.update(sample.error.kind for sample in result.samples if sample.error)

    def progress(self, sequence: int, now: str, result: RunResult | None, throttled: float = 0.0) -> RunProgress:
        """A snapshot for other processes; the rate is that since the last snapshot.

        Without a result, tokens and cost are unknown: a resumed run has not counted everything it paid for.
        """
        since, before = self._last
        self._last = (at, made) = (self._clock(), self.samples_done - self._found)
        totals = result.totals if result else None
        return RunProgress(
            samples=self.samples,
            samples_done=self.samples_done,
            cases=self.cases,
            cases_done=self.cases_done,
            unscored=self._unscored,
            errors=dict(self._errors),
            input_tokens=totals.input_tokens if totals else 0,
            output_tokens=totals.output_tokens if totals else 0,
            cost=totals.cost if totals else None,
            unpriced=totals.unpriced_calls if totals else 0,
            rate=(made - before) / (at - since) if at > since else None,
            throttled=throttled,
            sequence=sequence,
            updated_at=now,
        )
