"""How many cases and samples a gate needs, from one run's own spread."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from prompt_evaluator.errors import IncomparableError, UnknownNameError
from prompt_evaluator.gate.columns import ROUNDING, measured_scores
from prompt_evaluator.gate.needed import POWER, equal_cases_needed, smallest_drop
from prompt_evaluator.model.gate import GatePlan, MetricPlan, PlannedSize, default_margin
from prompt_evaluator.stats.intervals import FEWEST_CASES
from prompt_evaluator.stats.paired import Running
from prompt_evaluator.stats.power import cases_needed, samples_factor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.model.comparison import ComparedCase, RunFacts
    from prompt_evaluator.model.gate import GatePolicy

    Scale = tuple[float, float]

_SIZES = (1, 2, 3, 5, 10, 20)
"""Samples per case to choose from."""


class _Spread:
    """How much the samples of a case vary."""

    def __init__(self) -> None:
        self.means = Running()
        self.variance = 0.0
        self.several = self.samples = 0

    def add(self, case: ComparedCase, name: str) -> None:
        found = measured_scores(case.scores.get(name))
        if found is None:
            return
        self.means.add(found.mean)
        self.samples += found.samples
        if found.error is not None:
            self.variance += found.error * found.samples
            self.several += 1

    @property
    def within(self) -> float:
        """Variance of a sample around its case; of samples of different cases if no case has several."""
        return self.variance / self.several if self.several else (self.means.std or 0.0) ** 2


def gate_plan(
    facts: RunFacts,
    batches: Iterable[Sequence[ComparedCase]],
    policy: GatePolicy,
    find_scale: Callable[[str], Scale],
) -> GatePlan:
    """Plan for a change that affects all cases alike, so that only the samples vary; others need more cases.

    Raises:
        IncomparableError: The run has no score.
        UnknownNameError: It does not know a metric of the policy.
    """
    spreads: dict[str, _Spread] = {}
    cases = 0
    for batch in batches:
        for case in batch:
            cases += 1
            for name in case.scores:
                spreads.setdefault(name, _Spread()).add(case, name)
    asked = policy.metrics if policy.metrics is not None else dict.fromkeys(spreads)
    for name in asked:
        if name not in spreads and name not in facts.scales:
            raise UnknownNameError("metric", name, spreads)
    known = {name: margin for name, margin in asked.items() if name in spreads}
    if not known:
        raise IncomparableError(f"{facts.name} has no score to plan with. Evaluate it with a metric.")
    metrics = {}
    for name, margin in known.items():
        spread = spreads[name]
        scale = find_scale(name)
        chosen = default_margin(scale) if margin is None else margin
        metrics[name] = _metric_plan(spread, scale, chosen, policy.level, len(known))
    samples = max(round(spread.samples / spread.means.count) for spread in spreads.values())
    return GatePlan(
        run=facts.run_id or facts.name, cases=cases, samples=samples, level=policy.level, power=POWER, metrics=metrics
    )


def _metric_plan(spread: _Spread, scale: Scale, margin: float, level: float, tests: int) -> MetricPlan:
    span, within = scale[1] - scale[0], spread.within
    count, samples = spread.means.count, max(1, round(spread.samples / spread.means.count))
    std = math.sqrt(2 * within / samples)
    needed = _cases(std, margin, span, level)
    factor = samples_factor(0.0, 2 * within / samples, count, margin, tail=level) if margin > 0 else None
    enough = needed is not None and count >= needed
    return MetricPlan(
        margin=margin,
        scale=scale,
        within=within,
        from_one_sample=not spread.several,
        smallest_drop=smallest_drop(std, count, margin, level / tests),
        passes=enough,
        cases_needed=needed,
        samples_needed=math.ceil(factor * samples - ROUNDING) if factor is not None and std else None,
        sizes=tuple(
            PlannedSize(samples=each, cases=_cases(math.sqrt(2 * within / each), margin, span, level))
            for each in _SIZES
        ),
    )


def _cases(std: float, margin: float, span: float, level: float) -> int | None:
    if margin <= 0:
        return None
    if std <= ROUNDING * span:
        return equal_cases_needed(margin, span, level)
    needed = cases_needed(std, margin, power=POWER, tail=level)
    return None if needed is None else max(FEWEST_CASES, needed)
