"""How often the intervals of a run hold the truth, for a stated 95 %."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

import measure
from prompt_evaluator.stats import Interval, case_mean_interval, clustered_share_interval, mean_interval, spread

if TYPE_CHECKING:
    from collections.abc import Iterable

_CASES = (5, 8, 12, 30, 100)
_RUNS = 3_000
_SEED = 1
_SAMPLES = 5
"""Of each case, where flags are counted."""
_COVERAGE, _WIDTH = 0.93, 1.1
_ANY = (-math.inf, math.inf)
_UNIT = (0.0, 1.0)


def coverage_of_means(draw: str, cases: int) -> float:
    rng = np.random.default_rng([_SEED, cases])
    size = (_RUNS, cases)
    if draw == "normal":
        return _covered((case_mean_interval(run, _ANY) for run in rng.normal(0.5, 0.1, size).tolist()), 0.5)
    if draw == "Beta(8, 2)":
        return _covered((case_mean_interval(run, _UNIT) for run in rng.beta(8, 2, size).tolist()), 0.8)
    share = float(draw.removeprefix("0 or 1, "))
    return _covered((_all_or_nothing(ones, cases) for ones in rng.binomial(cases, share, _RUNS).tolist()), share)


@cache
def _all_or_nothing(ones: int, cases: int) -> Interval | None:
    return case_mean_interval([1.0] * ones + [0.0] * (cases - ones), _UNIT)


def width_over_students(cases: int) -> float:
    """The mean width on normal data, over that of a plain t interval."""
    ours = theirs = 0.0
    for run in np.random.default_rng([_SEED, cases]).normal(0.5, 0.1, (_RUNS, cases)).tolist():
        numbers = spread(run)
        assert numbers is not None
        ours += _width(case_mean_interval(run, _ANY))
        theirs += _width(mean_interval(numbers.mean, numbers.std, cases))
    return ours / theirs


def coverage_of_flags(correlation: float, share: float, cases: int) -> float:
    """Cases have a share each, drawn so that two samples of one case have this correlation."""
    rng = np.random.default_rng([_SEED, cases])
    size = (_RUNS, cases)
    if correlation in (0, 1):
        raised = rng.binomial(1 if correlation else _SAMPLES, share, size) * (_SAMPLES if correlation else 1)
    else:
        weight = (1 - correlation) / correlation
        raised = rng.binomial(_SAMPLES, rng.beta(share * weight, (1 - share) * weight, size))
    asked = [_SAMPLES] * cases
    return _covered((clustered_share_interval(run, asked) for run in raised.tolist()), share)


def _covered(intervals: Iterable[Interval | None], truth: float) -> float:
    return sum(found is not None and found.low <= truth <= found.high for found in intervals) / _RUNS


def _width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def _row(name: str, values: Iterable[float]) -> list[float]:
    found = list(values)
    print(f"{name:<34}" + "".join(f"{value:>8.3f}" for value in found))
    return found


def _lowest(name: str, coverage: list[float], limit: float) -> measure.Result:
    return measure.Result(name, min(coverage), limit, at_most=False, detail=f"{_RUNS:,} simulated runs a cell")


def main() -> None:
    print(f"{'Coverage of a stated 0.95, by cases':<34}" + "".join(f"{cases:>8}" for cases in _CASES))
    draws = ("normal", "Beta(8, 2)", "0 or 1, 0.5", "0 or 1, 0.9", "0 or 1, 0.98")
    means = [value for draw in draws for value in _row(draw, (coverage_of_means(draw, cases) for cases in _CASES))]
    widths = _row("width over Student's, normal", map(width_over_students, _CASES))
    flags: list[float] = []
    for correlation in (0, 0.5, 1):
        for share in (0.02, 0.1, 0.5):
            name = f"flag in {share:.0%}, correlation {correlation:g}"
            flags += _row(name, (coverage_of_flags(correlation, share, cases) for cases in _CASES))
    measure.conclude(
        _lowest("means, lowest coverage", means, _COVERAGE),
        measure.Result("means, width over Student's", max(widths), _WIDTH, at_most=True, detail="normal case means"),
        _lowest("flags, lowest coverage", flags, _COVERAGE),
    )


if __name__ == "__main__":
    main()
