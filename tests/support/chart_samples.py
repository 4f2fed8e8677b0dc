"""Numbers of every kind of chart, of any size and with any names."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import (
    CasePoint,
    ChartData,
    CostPoint,
    DifferenceBar,
    MetricBar,
    ScoreBin,
    TrendRun,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

METRICS = ("correctness", "helpfulness", "tone", "exact_match", "is_json")
RUNS = ("3f2a9b1c gpt-small", "9c1e0d4f gpt-large", "77aa01be claude")
HOSTILE = (
    "<script>alert(1)</script>",
    "__proto__",
    "constructor",
    "'); alert(1); ('",
    '"quoted" \\ back',
    "a.b[0]['c']",
    "x" * 10_000,
    "x" * 10_000 + "y",
    "right\u202eto\u200fleft",
    "nul\0here\x1b[31m",
    "line\nbreak",
    "",
    "datum.low",
    "${1+1} {{7*7}}",
    "\ud800",
)


def scale_of(metric: str) -> tuple[float, float]:
    return (0.0, 1.0) if metric in METRICS[3:] else (1.0, 5.0)


def metrics(names: Sequence[str] = METRICS, *, cases: int = 60) -> ChartData:
    random = Random(1)
    bars = []
    for name in names:
        low, high = scale_of(name)
        mean = low + (high - low) * random.uniform(0.55, 0.95)
        half = (high - low) * random.uniform(0.01, 0.05)
        ends = (mean - half, min(high, mean + half)) if cases >= 5 else (None, None)
        bars.append(MetricBar(metric=name, mean=mean, low=ends[0], high=ends[1], scale=(low, high), cases=cases))
    return ChartData(kind="metrics", title="Metrics of run 3f2a9b1c", metrics=tuple(bars))


def distribution(names: Sequence[str] = METRICS) -> ChartData:
    random = Random(3)
    bins = []
    for name in names:
        low, high = scale_of(name)
        edges = [number + 0.5 for number in range(6)] if high == 5 else [number / 10 for number in range(11)]
        for start, end in pairwise(edges):
            count = int(random.random() * 200 * (start - low + 0.6))
            bins.append(ScoreBin(metric=name, low=start, high=end, count=count))
    return ChartData(kind="distribution", title="Scores of run 3f2a9b1c", bins=tuple(bins))


def differences(names: Sequence[str] = METRICS) -> ChartData:
    verdicts = ("better", "worse", "no_difference", "inconclusive")
    bars = [
        DifferenceBar(
            name=name,
            kind="metric",
            difference=(0.42, -0.38, 0.01, 0.09)[at % 4] * (scale_of(name)[1] - scale_of(name)[0]) / 4,
            low=(0.2, -0.6, -0.06, -0.1)[at % 4] * (scale_of(name)[1] - scale_of(name)[0]) / 4,
            high=(0.64, -0.16, 0.08, 0.28)[at % 4] * (scale_of(name)[1] - scale_of(name)[0]) / 4,
            threshold=0.025 * (scale_of(name)[1] - scale_of(name)[0]),
            span=scale_of(name)[1] - scale_of(name)[0],
            verdict=verdicts[at % 4],
        )
        for at, name in enumerate(names)
    ]
    flag = DifferenceBar(
        name="leaks_data", kind="flag", difference=0.09, low=0.03, high=0.15, threshold=0.05, span=1.0, verdict="worse"
    )
    return ChartData(kind="differences", title="9c1e0d4f against 3f2a9b1c", differences=(*bars, flag), runs=RUNS[:2])


def scatter(cases: int = 100, ids: Sequence[str] = (), metric: str = "correctness") -> ChartData:
    random = Random(5)
    points = []
    for number in range(cases):
        before = round(random.betavariate(5, 2) * 20) / 5 + 1
        after = min(5.0, max(1.0, before + round(random.gauss(0, 0.4) * 5) / 5))
        class_ = "same" if abs(after - before) < 0.8 else "better" if after > before else "worse"
        case_id = ids[number] if number < len(ids) else f"case-{number:04}"
        points.append(CasePoint(test_case_id=case_id, baseline=before, candidate=after, class_=class_))
    return ChartData(
        kind="scatter", title="Case by case", points=tuple(points), metric=metric, scale=(1.0, 5.0), runs=RUNS[:2]
    )


def trend(runs: int = 20, names: Sequence[str] = (), metric: str = "correctness") -> ChartData:
    random = Random(6)
    change = runs // 2
    points = []
    for number in range(runs):
        mean = (4.2 if number < change else 3.7) + random.gauss(0, 0.05) + (0.5 if number == runs - 3 else 0)
        changed = ("prompt",) if number == change else ("model", "temperature") if number % 7 == 4 else ()
        points.append(
            TrendRun(
                run=names[number] if number < len(names) else f"{number:08x}",
                started_at=f"2026-08-{number % 28 + 1:02}T10:00:00Z",
                mean=mean,
                low=mean - 0.1,
                high=mean + 0.1,
                changed=changed,
                change_point=number == change and runs > 4,
                outlier=number == runs - 3 and runs > 4,
                level=(4.2 if number < change else 3.7) if runs > 4 else None,
            )
        )
    return ChartData(kind="trend", title="correctness over time", trend=tuple(points), metric=metric, scale=(1.0, 5.0))


def cost(names: Sequence[str] = RUNS, *, wide: bool = True) -> ChartData:
    points = [
        CostPoint(
            run=name,
            cost=0.0004 * (6**at if wide else 1 + at),
            mean=(3.6, 4.3, 4.0)[at % 3] + 0.01 * at,
            low=(3.5, 4.22, 3.9)[at % 3] + 0.01 * at,
            high=(3.7, 4.38, 4.1)[at % 3] + 0.01 * at,
            dominated=at % 3 == 2,
        )
        for at, name in enumerate(names)
    ]
    return ChartData(kind="cost", title="Cost and quality", costs=tuple(points), metric="correctness", scale=(1.0, 5.0))


EVERY_KIND: dict[str, Callable[[], ChartData]] = {
    "metrics": metrics,
    "distribution": distribution,
    "differences": differences,
    "scatter": scatter,
    "trend": trend,
    "cost": cost,
}


def hostile() -> dict[str, ChartData]:
    """Every kind with names that try to do harm."""
    return {
        "metrics": metrics(HOSTILE),
        "distribution": distribution(HOSTILE),
        "differences": differences(HOSTILE),
        "scatter": scatter(60, HOSTILE, "__proto__"),
        "trend": trend(20, HOSTILE, HOSTILE[0]),
        "cost": cost(HOSTILE[:12], wide=False),
    }
