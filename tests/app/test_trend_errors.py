"""How certain the mean of a run is, from data as real runs have them: few cases, few samples, pass or fail."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from entries import each

from prompt_evaluator.app.trend_errors import MeasuredRun, standard_errors
from prompt_evaluator.model.trend import CaseNoise
from prompt_evaluator.stats.changes import find_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RUNS = 8


class Scores:
    """Answers like the store, from arrays of cases × samples, one for each run."""

    def __init__(self, runs: Sequence[Any]) -> None:
        self.runs = runs

    def case_noise(self, run_ids: Sequence[str], metric: str, positions: Sequence[int]) -> dict[str, CaseNoise]:
        assert metric
        return {run_id: self._noise(values[list(positions)]) for run_id, values in zip(run_ids, self.runs, strict=True)}

    def case_steps(self, run_ids: Sequence[str], metric: str, positions: Sequence[int]) -> list[float]:
        assert metric
        assert len(run_ids) == len(self.runs)
        means = [values[list(positions)].mean(axis=1) for values in self.runs]
        return [float(((later - earlier) ** 2).mean()) for earlier, later in pairwise(means)]

    @property
    def measured(self) -> list[MeasuredRun]:
        return [MeasuredRun(str(at), float(values.mean()), len(values)) for at, values in enumerate(self.runs)]

    @staticmethod
    def _noise(values: Any) -> CaseNoise:
        cases, samples = values.shape
        several = cases if samples > 1 else 0
        parts = values.var(axis=1, ddof=1) / samples if several else np.zeros(cases)
        return CaseNoise(
            cases=cases,
            inverse_counts=cases / samples,
            several_inverse_counts=several / samples,
            squares=float(parts.sum()),
            fourths=float((parts**2).sum() / max(1, samples - 1)),
            spare=float(several * (samples - 1)),
        )


def mostly_right(rng: np.random.Generator, cases: int, samples: int) -> list[Any]:
    chances = rng.beta(8, 2, cases)
    return [(rng.random((cases, samples)) < chances[:, None]).astype(float) for _ in range(RUNS)]


def right_or_wrong_almost_always(rng: np.random.Generator, cases: int, samples: int) -> list[Any]:
    chances = rng.beta(0.3, 0.1, cases)
    return [(rng.random((cases, samples)) < chances[:, None]).astype(float) for _ in range(RUNS)]


def one_to_five(rng: np.random.Generator, cases: int, samples: int) -> list[Any]:
    levels = rng.normal(4, 0.7, cases)
    return [np.clip(np.round(levels[:, None] + rng.normal(0, 0.6, (cases, samples))), 1, 5) for _ in range(RUNS)]


@each(("cases", "samples"), [(5, 2), (40, 1)])
@each("draw", [mostly_right, right_or_wrong_almost_always, one_to_five])
def test_runs_without_a_change_seldom_show_one(draw: Callable[..., list[Any]], cases: int, samples: int) -> None:
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(100):
        scores = Scores(draw(rng, cases, samples))
        errors = standard_errors(scores, scores.measured, "metric", cases)
        means = [run.mean for run in scores.measured]
        alarms += bool(errors and find_changes(means, errors.values, freedom=errors.freedom).points)

    assert alarms <= 0.1 * 100


@each("draw", [mostly_right, one_to_five])
def test_errors_are_as_large_as_means_vary(draw: Callable[..., list[Any]]) -> None:
    rng = np.random.default_rng(12)
    stated, seen = [], []
    for _ in range(200):
        scores = Scores(draw(rng, 40, 5))
        errors = standard_errors(scores, scores.measured, "metric", 40)
        assert errors is not None
        stated.append(np.mean(np.square(errors.values)))
        seen.append(np.var([run.mean for run in scores.measured], ddof=1))

    assert np.mean(stated) == pytest.approx(np.mean(seen), rel=0.1)


def test_a_large_run_is_judged_by_some_of_its_cases() -> None:
    """The store reads at most a thousand cases of each run; the error is that of the mean over all of them."""
    rng = np.random.default_rng(13)
    scores = Scores([rng.normal(4, 0.5, (20_000, 5)) for _ in range(2)])

    errors = standard_errors(scores, scores.measured, "metric", 20_000)

    assert errors is not None
    assert errors.values == pytest.approx([0.5 / 100_000**0.5] * 2, rel=0.1)
