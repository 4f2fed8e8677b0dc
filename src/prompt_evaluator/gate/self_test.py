"""How often a policy raises a false alarm on a run's own data: its samples, split in halves, are compared."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.errors import IncomparableError, UnknownNameError
from prompt_evaluator.gate.columns import Measure, flag_measure
from prompt_evaluator.gate.deciding import corrected, verdict_of
from prompt_evaluator.model.gate import SelfTest, default_margin
from prompt_evaluator.model.slicing import Groups
from prompt_evaluator.stats.intervals import clopper_pearson
from prompt_evaluator.stats.one_sided import one_sided_drop
from prompt_evaluator.stats.paired import Moments, Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prompt_evaluator.model.comparison import ComparedCase, RunFacts
    from prompt_evaluator.model.gate import GatePolicy

    Scale = tuple[float, float]
    FindScale = Callable[[str], Scale]
    Way = tuple[tuple[int, ...], tuple[int, ...]]

SPLITS = 2_000
LIMIT = 1.5
"""A policy whose rate is higher than so many times its level is refused."""
_SEED = 20_240
_MOST_WAYS = 252
"""All ways to halve ten samples. More samples are divided in so many random ways."""
_HALVES = 2


class _Halves(NamedTuple):
    """The means of both halves, for each way to split a case."""

    first: Any
    second: Any
    size: int


class _Sums:
    """Moments of the drops, one column per split."""

    def __init__(self, np: Any, splits: int) -> None:
        self._np = np
        self.count = 0
        self.sums = np.zeros((5, splits))
        self.low, self.high = np.full(splits, math.inf), np.full(splits, -math.inf)
        self.largest_half = 0

    def add(self, drop: Any, size: int) -> None:
        self.count += 1
        square = drop * drop
        for at, value in enumerate((drop, square, square * drop, drop > 0, drop < 0)):
            self.sums[at] += value
        self._np.minimum(self.low, drop, out=self.low)
        self._np.maximum(self.high, drop, out=self.high)
        self.largest_half = max(self.largest_half, size)

    def running(self, at: int) -> Running:
        total, squares, cubes, wins, losses = (float(value) for value in self.sums[:, at])
        return Running.of_moments(
            Moments(
                self.count, total, squares, cubes, int(wins), int(losses), float(self.low[at]), float(self.high[at])
            )
        )


class _Tested(NamedTuple):
    """Something that may raise an alarm."""

    name: str
    sums: _Sums
    measure: Measure


class SelfTester:
    """Adds up a run's cases, each split in the same number of random ways."""

    def __init__(self, policy: GatePolicy, facts: RunFacts, splits: int = SPLITS) -> None:
        import numpy as np  # noqa: PLC0415 - takes a tenth of a second

        self._np, self._policy, self._facts, self._splits = np, policy, facts, splits
        self._rng = np.random.default_rng(_SEED)
        self._metrics: dict[str, _Sums] = {}
        self._flags: dict[str, _Sums] = {}
        self._slices: Groups[dict[str, _Sums]] = Groups(dict, policy.slices)
        self._fallen: dict[str, Any] = {}
        self._cases = self._half = 0

    def add(self, case: ComparedCase) -> None:
        """Split the samples of a case; one with fewer than two is left out."""
        values = {name: scores.values for name, scores in case.scores.items() if scores.values}
        several = {name: found for name, found in values.items() if len(found) >= _HALVES}
        slices = list(self._slices.of(case.metadata)) if self._policy.slices else []
        draws: dict[int, Any] = {}
        for name, found in several.items():
            halves = self._split(found, draws)
            for sums in (self._metrics, *slices):
                self._add(sums, name, halves.first - halves.second, halves.size)
            if (minimum := self._policy.case_minimum.get(name)) is not None:
                fell = (halves.second < minimum) & (halves.first >= minimum)
                self._fallen[name] = self._fallen.get(name, False) | fell
        for name, flag in case.flags.items():
            if flag.asked >= _HALVES:
                halves = self._split((1.0,) * flag.raised + (0.0,) * (flag.asked - flag.raised), {})
                self._add(self._flags, name, halves.second - halves.first, halves.size)
        self._cases += bool(several)

    def finish(self, find_scale: FindScale) -> SelfTest:
        """Gate every split.

        Raises:
            IncomparableError: No case has two samples with a score.
            UnknownNameError: The run does not know a metric of the policy.
        """
        if not self._cases:
            raise IncomparableError(
                f"{self._facts.name} cannot be tested against itself: no case has two samples with a known score. "
                "Evaluate it with --num-samples 2 or more; 4 or more tell more."
            )
        deciding, guarding = self._tested(find_scale)
        causes: Counter[str] = Counter()
        alarms = 0
        for at in range(self._splits):
            found = [
                *self._failing(deciding, at, self._policy.level),
                *self._failing(guarding, at, self._policy.guardrails.level),
                *(f"minimum of {name}" for name, fell in self._fallen.items() if fell[at]),
            ]
            alarms += bool(found)
            causes.update(found)
        return self._result(alarms, causes)

    def _result(self, alarms: int, causes: Counter[str]) -> SelfTest:
        rate, limit = alarms / self._splits, LIMIT * self._policy.level
        low, high = clopper_pearson(alarms, self._splits)
        return SelfTest(
            run=self._facts.run_id or self._facts.name,
            splits=self._splits,
            alarms=alarms,
            rate=rate,
            low=low,
            high=high,
            level=self._policy.level,
            limit=limit,
            refused=rate > limit,
            cases=self._cases,
            samples=self._half,
            causes=dict(causes.most_common()),
        )

    def _split(self, values: tuple[float, ...], draws: dict[int, Any]) -> _Halves:
        """Means of both halves by split; metrics of a case with as many scores are split in the same way."""
        np, count = self._np, len(values)
        ways = _ways(count)
        if count not in draws:
            draws[count] = (self._rng.integers(len(ways), size=self._splits), self._rng.random(self._splits) < 0.5)  # noqa: PLR2004
        chosen, swapped = draws[count]
        means = np.array([[sum(values[at] for at in half) / len(half) for half in way] for way in ways])
        pairs = means[chosen]
        first = np.where(swapped, pairs[:, 0], pairs[:, 1])
        return _Halves(first, np.where(swapped, pairs[:, 1], pairs[:, 0]), count // _HALVES)

    def _add(self, sums: dict[str, _Sums], name: str, drop: Any, size: int) -> None:
        if name not in sums:
            sums[name] = _Sums(self._np, self._splits)
        sums[name].add(drop, size)
        self._half = max(self._half, size)

    def _tested(self, find_scale: FindScale) -> tuple[list[_Tested], list[_Tested]]:
        """What decides, and what guards: flags and slices. Errors, cost and latency are not of single samples."""
        asked = self._policy.metrics if self._policy.metrics is not None else dict.fromkeys(self._metrics)
        for name in (*asked, *self._policy.case_minimum):
            if name not in self._metrics and name not in self._flags and name not in self._facts.scales:
                raise UnknownNameError("metric or flag", name, {*self._metrics, *self._flags})
        deciding, measures = [], {}
        for name, margin in asked.items():
            if name in self._metrics:
                scale = find_scale(name)
                measures[name] = Measure(*scale, default_margin(scale) if margin is None else margin)
                deciding.append(_Tested(name, self._metrics[name], measures[name]))
            elif name in self._flags:
                deciding.append(_Tested(f"flag {name}", self._flags[name], flag_measure(self._policy, name)))
        guarding = [
            _Tested(f"flag {name}", sums, flag_measure(self._policy, name))
            for name, sums in self._flags.items()
            if name not in asked and self._policy.guardrails.flag_margin(name) is not None
        ]
        for key, value, group in self._slices.few(lambda _: True):
            guarding += [
                _Tested(f"{name} in {key} = {value}", sums, measures[name])
                for name, sums in group.items()
                if name in measures
            ]
        return deciding, guarding

    def _failing(self, tested: Sequence[_Tested], at: int, level: float) -> Iterator[str]:
        """What fails in one split."""
        drops = [
            one_sided_drop(
                sums.running(at), span=measure.span, level=self._policy.level, binary_pairs=sums.largest_half == 1
            )
            for _, sums, measure in tested
        ]
        p_values = corrected([drop.p_value for drop in drops])
        for each, drop, p_value in zip(tested, drops, p_values, strict=True):
            if verdict_of(drop, p_value, each.measure, level) == "fail":
                yield each.name


def self_test(
    facts: RunFacts,
    batches: Iterable[Sequence[ComparedCase]],
    policy: GatePolicy,
    find_scale: FindScale,
) -> SelfTest:
    """Test a policy on a run; raises as `SelfTester.finish`."""
    tester = SelfTester(policy, facts)
    for batch in batches:
        for case in batch:
            tester.add(case)
    return tester.finish(find_scale)


@cache
def _ways(count: int) -> tuple[Way, ...]:
    """Ways to take two halves; of an odd number of samples, one is left out."""
    half = count // _HALVES
    if math.comb(count, half) * math.comb(count - half, half) <= _MOST_WAYS:
        return tuple(_all_ways(count, half))
    from random import Random  # noqa: PLC0415 - for many samples only

    draw = Random(_SEED)  # noqa: S311 - not a secret
    orders = (draw.sample(range(count), 2 * half) for _ in range(_MOST_WAYS))
    return tuple((tuple(order[:half]), tuple(order[half:])) for order in orders)


def _all_ways(count: int, half: int) -> Iterator[Way]:
    for first in combinations(range(count), half):
        others = [at for at in range(count) if at not in first]
        yield from ((first, second) for second in combinations(others, half) if first < second)
