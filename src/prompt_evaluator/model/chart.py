"""Charts: the numbers they show, and what they become."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

ChartKind = Literal["metrics", "distribution", "differences", "scatter", "trend", "cost"]
Theme = Literal["light", "dark"]

MOST_POINTS = 2_000
"""Points in one chart. Of more cases, the chart shows these many, chosen evenly, and says so."""
MOST_ROWS = 60
"""Rows of metrics, flags or runs in one chart."""
THIN_SLICE = 10
"""A slice with fewer cases is marked: its mean says little."""
SIGNIFICANT = 0.05


class MetricBar(msgspec.Struct, frozen=True, kw_only=True):
    """One metric's mean."""

    metric: str
    mean: float
    low: float | None
    high: float | None
    scale: tuple[float, float]
    cases: int


class ScoreBin(msgspec.Struct, frozen=True, kw_only=True):
    """How many samples scored between two values, `high` included only in the last bin."""

    metric: str
    low: float
    high: float
    count: int


class SliceCell(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over the cases with one value of a metadata key."""

    key: str
    value: str
    metric: str
    mean: float
    low: float | None
    high: float | None
    scale: tuple[float, float]
    cases: int
    difference: float | None
    """From the mean of all other cases."""
    p_value: float | None
    """Of that difference, corrected for all cells (Holm); None below five cases."""


class DifferenceBar(msgspec.Struct, frozen=True, kw_only=True):
    """One metric's or flag's paired difference between two runs."""

    name: str
    kind: Literal["metric", "flag"]
    difference: float
    low: float | None
    high: float | None
    threshold: float
    span: float
    """Width of its scale."""
    verdict: str


class CasePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One case's means in two runs."""

    test_case_id: str
    baseline: float
    candidate: float
    class_: str


class TrendRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run in a trend."""

    run: str
    started_at: str
    mean: float
    low: float | None
    high: float | None
    changed: tuple[str, ...]
    """What differs from the run before, such as `prompt`."""
    change_point: bool
    """Whether a new level begins with it."""
    outlier: bool
    level: float | None = None
    """Mean of all runs on the same level; None if the level never changes."""
    verdict: str | None = None
    """The gate's last verdict on it."""
    link: str | None = None
    """The address of its page, where the chart is part of a site."""
    change_link: str | None = None
    """Of the comparison of the runs before and after the change that begins with it."""


class CostPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One run's cost and quality."""

    run: str
    cost: float
    """US dollars per sample."""
    mean: float
    low: float | None
    high: float | None
    dominated: bool
    """Whether another run is at most as expensive and certainly better: its interval lies above this one's."""
    link: str | None = None
    """The address of its page, where the chart is part of a site."""


class ChartData(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one chart; only the fields of its kind are filled."""

    kind: ChartKind
    title: str
    metrics: tuple[MetricBar, ...] = ()
    bins: tuple[ScoreBin, ...] = ()
    differences: tuple[DifferenceBar, ...] = ()
    points: tuple[CasePoint, ...] = ()
    trend: tuple[TrendRun, ...] = ()
    costs: tuple[CostPoint, ...] = ()
    metric: str | None = None
    scale: tuple[float, float] | None = None
    """Of `points`, `trend` and `costs`, which are about one metric."""
    runs: tuple[str, ...] = ()
    """Names of the two that are compared, the baseline first."""
    left_out: int = 0
    """Cases that are not shown, because there are more than fit; of costs, runs whose cost is not known."""


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A chart that can be drawn."""

    kind: ChartKind
    title: str
    alternative: str
    """What the chart shows, in a sentence or two with its main numbers, for people who cannot see it."""
    specification: dict[str, Any]
    """Vega-Lite, without colours of the page: the theme is added when it is drawn. Empty if there is nothing to draw;
    then `alternative` says why."""
