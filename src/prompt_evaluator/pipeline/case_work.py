"""A case in progress, with the finished units of each sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.work import WorkItem
from prompt_evaluator.pipeline.samples import SampleUnits, gathered
from prompt_evaluator.pipeline.uses import expected_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prompt_evaluator.model import Answer, Generation, Judgement, RunPlan, SampleStatus, TestCase, Unit


class CaseWork:
    """Collects the units of a case as they finish. Used from one thread."""

    def __init__(self, position: int, case: TestCase, own: Iterable[Unit], plan: RunPlan) -> None:
        self.position, self.case = position, case
        self._expected = expected_keys(plan, case)
        self._attempts = 1 if plan.parent_run_id else plan.target.attempts
        self._units: list[dict[bytes, Unit]] = [{} for _ in range(plan.num_samples)]
        self._finished: list[SampleUnits | None] = [None] * plan.num_samples
        self.linked: Mapping[int, Sequence[Unit]] = {}
        """Reusable units of other runs, by sample."""
        self.rivals: Mapping[int, Answer] = {}
        """In a pairwise comparison, the baseline's answers by sample."""
        self._made: dict[bytes, Generation | Judgement] = {}
        """Decoded units by name, which need not be decoded again."""
        self._left = plan.num_samples
        self.found: list[tuple[int, SampleStatus]] = []
        """Samples that were already finished, with their status."""
        for unit in own:
            self.add(unit)

    @property
    def is_finished(self) -> bool:
        return not self._left

    @property
    def is_untouched(self) -> bool:
        return not any(self._units)

    def add(self, unit: Unit, done: Generation | Judgement | None = None) -> None:
        """Add a unit, with its decoded data if available. A unit that is ok is never replaced."""
        if unit.sample >= len(self._units):
            return  # from a run with more samples
        units = self._units[unit.sample]
        if (before := units.get(unit.name)) is None or not before.ok:
            units[unit.name] = unit
            if done is not None:
                self._made[unit.name] = done

    def item(self, sample: int) -> WorkItem:
        """The work item of a sample."""
        own, linked = self._units[sample].values(), self.linked.get(sample, ())
        rival = self.rivals.get(sample)
        return WorkItem(case=self.case, sample=sample, own=tuple(own), linked=tuple(linked), rival=rival)

    def items(self) -> list[WorkItem]:
        """Work items of all unfinished samples."""
        return [self.item(sample) for sample, finished in enumerate(self._finished) if finished is None]

    def finish(self, sample: int) -> SampleStatus:
        """Mark a sample as finished and return its status."""
        if self._finished[sample] is None:
            self._left -= 1
        done = self._finished[sample] = gathered(self._units[sample].values(), self._made)
        return done.status(self._expected)

    def finish_what_needs_nothing(self, *, retry_errors: bool) -> None:
        """Mark samples that are already finished, except failed ones that will be retried."""
        for sample, units in enumerate(self._units):
            if retry_errors and not all(unit.ok for unit in units.values()):
                continue
            if units and gathered(units.values()).status(self._expected, self._attempts) != "pending":
                self.found.append((sample, self.finish(sample)))

    def samples(self) -> list[SampleUnits]:
        """Units of all samples, finished or not."""
        return [
            finished or gathered(units.values()) for finished, units in zip(self._finished, self._units, strict=True)
        ]
