"""Pairs of runs with a known truth, gated many times."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.gate.noise import GateTally
from prompt_evaluator.model.comparison import CaseScores, ComparedCase, RunFacts
from prompt_evaluator.model.gate import GatePolicy, Guardrails

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.model.gate import GateResult

CASES, SAMPLES = 100, 3
FIXED_THRESHOLD = 0.02
"""As a share of the scale: the harness's 2 points, without a look at noise."""
_RAILS_OFF = Guardrails(flags=None, errors=None, cost=None, latency=None)


@dataclass(frozen=True, slots=True)
class Setting:
    """How scores come about: each case has a quality of its own, and each sample is drawn around it."""

    name: str
    scale: tuple[float, float]
    quality: Callable[[random.Random], float]
    """Of a case, before any drop."""
    score: Callable[[random.Random, float], float]
    """Of a sample, by its case's quality."""
    samples: int = SAMPLES
    metrics: int = 1


class Rates(NamedTuple):
    """Of many gates."""

    fail: float
    passed: float
    fixed_threshold: float
    """How often a gate with a fixed threshold fails."""


def _passed(rng: random.Random, quality: float) -> float:
    return float(rng.random() < quality)


def _likert(rng: random.Random, quality: float) -> float:
    return float(min(5, max(1, round(rng.gauss(quality, 0.7)))))


def _share(rng: random.Random, quality: float) -> float:
    """Mostly 1, with a long tail."""
    return max(0.0, 1 - rng.expovariate(1 / max(1e-9, 1 - quality)))


PASS_FAIL = Setting("pass or fail, cases vary", (0.0, 1.0), lambda rng: rng.betavariate(4, 1), _passed)
ALIKE = Setting("pass or fail, cases alike", (0.0, 1.0), lambda _: 0.8, _passed)
ONE_SAMPLE = Setting("pass or fail, one sample", (0.0, 1.0), lambda rng: rng.betavariate(4, 1), _passed, samples=1)
NEARLY_ALL = Setting("98 % pass", (0.0, 1.0), lambda rng: rng.betavariate(49, 1), _passed)
LIKERT = Setting("1 to 5", (1.0, 5.0), lambda rng: rng.uniform(2.5, 4.8), _likert)
SKEWED = Setting("skewed shares", (0.0, 1.0), lambda rng: rng.betavariate(8, 1), _share)
THREE = Setting("three metrics from 1 to 5", (1.0, 5.0), lambda rng: rng.uniform(2.5, 4.8), _likert, metrics=3)
SETTINGS = (PASS_FAIL, ALIKE, ONE_SAMPLE, NEARLY_ALL, LIKERT, SKEWED, THREE)


def lowered(setting: Setting, drop: float) -> Callable[[float], float]:
    """Lower a case's quality by this share of the scale."""
    low, high = setting.scale
    return lambda quality: max(low, quality - drop * (high - low))


def gate_once(setting: Setting, rng: random.Random, change: Callable[[float], float], cases: int = CASES) -> GateResult:
    """One pair of runs, gated on all metrics."""
    names = [f"metric-{at}" for at in range(setting.metrics)]
    scales = dict.fromkeys(names, setting.scale)
    facts = tuple(RunFacts(name=name, scales=scales) for name in ("baseline", "candidate"))
    tally = GateTally(GatePolicy(guardrails=_RAILS_OFF), (facts[0], facts[1]))
    for at in range(cases):
        sides: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
        for name in names:
            quality = setting.quality(rng)
            for side, level in zip(sides, (quality, change(quality)), strict=True):
                side[name] = [setting.score(rng, level) for _ in range(setting.samples)]
        tally.add(_case(at, sides[0]), _case(at, sides[1]))
    return tally.finish(lambda _name: setting.scale)


def rates(setting: Setting, gates: int, drop: float = 0.0, *, seed: int = 0, cases: int = CASES) -> Rates:
    """How often runs with this drop, as a share of the scale, fail and pass."""
    rng = random.Random(f"{setting.name} {seed}")
    found = [gate_once(setting, rng, lowered(setting, drop), cases) for _ in range(gates)]
    fixed = fmean(any(_beyond(each, setting) for each in result.metrics.values()) for result in found)
    return Rates(_share_of(found, "fail"), _share_of(found, "pass"), fixed)


def _beyond(metric: object, setting: Setting) -> bool:
    difference: float = getattr(metric, "difference")  # noqa: B009 - typed here
    return difference < -FIXED_THRESHOLD * (setting.scale[1] - setting.scale[0])


def _share_of(found: Sequence[GateResult], verdict: str) -> float:
    return fmean(result.verdict == verdict for result in found)


def _case(at: int, measured: dict[str, list[float]]) -> ComparedCase:
    return ComparedCase(f"case-{at}", "same", {}, {name: _scores(values) for name, values in measured.items()}, {})


def _scores(values: list[float]) -> CaseScores:
    """Without `statistics`, whose exact sums would take most of the time."""
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    std = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
    return CaseScores(mean, std, len(values), None, 0, tuple(values))
