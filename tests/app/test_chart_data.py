"""The numbers of charts, from the store, from comparisons and from trends."""

from __future__ import annotations

from contextlib import closing
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

import pytest
from compared_runs import compared, of_metric
from compared_site import Planned, add_planned
from scipy import stats as scipy_stats
from trend_runs import add_run, drawn

from prompt_evaluator.app.chart_data import (
    differences_data,
    distribution_data,
    metrics_data,
    scatter_data,
    trend_data,
)
from prompt_evaluator.app.charts import comparison_charts, run_charts
from prompt_evaluator.app.cost_charts import cost_data
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.slices import slice_cells
from prompt_evaluator.app.trends import read_trends
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.trend import TrendQuery
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CASES = [
    Planned({"clarity": [1.0, 5.0], "warmth": [4.0, 4.0]}, raised=1),
    Planned({"clarity": [3.0, 3.0], "warmth": [2.0, 3.0]}),
    Planned({"clarity": [4.0, 4.0], "warmth": [4.0, 4.0]}),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "store.db")
    yield opened
    opened.close()


def sliced(rng: Random, cases: int = 60) -> list[Planned]:
    """Billing is worse than the rest; half of the cases have a flag that means nothing."""
    found = []
    for at in range(cases):
        topic = ("billing", "account", "other")[at % 3]
        level = 2.0 if topic == "billing" else 4.0
        scores = [min(5.0, max(1.0, rng.gauss(level, 0.5))) for _ in range(3)]
        metadata = {"topic": topic, "long": at % 2 == 0, "number": at, "nested": {"a": 1}}
        found.append(Planned({"clarity": scores}, metadata=metadata))
    return found


def test_means_come_with_the_number_of_cases(store: Store) -> None:
    line = store.run_line(add_planned(store, 1, CASES))

    data = metrics_data(line)

    assert [bar.metric for bar in data.metrics] == ["clarity", "warmth"]
    assert data.metrics[0].mean == pytest.approx(fmean([3.0, 3.0, 4.0]))
    assert data.metrics[0].cases == 3


def test_scores_of_a_rubric_have_a_bin_for_each_whole_number(store: Store) -> None:
    line = store.run_line(add_planned(store, 1, CASES))

    bins = [each for each in distribution_data(store, line).bins if each.metric == "clarity"]

    assert [(each.low, each.high, each.count) for each in bins] == [
        (0.5, 1.5, 1),
        (1.5, 2.5, 0),
        (2.5, 3.5, 2),
        (3.5, 4.5, 2),
        (4.5, 5.5, 1),
    ]


def test_a_slice_is_tested_against_the_rest_with_a_correction_for_all_cells(store: Store) -> None:
    cases = sliced(Random(2))
    run = add_planned(store, 1, cases)

    cells = slice_cells(store, run)

    assert {cell.key for cell in cells} == {"topic", "long"}
    first = cells[0]
    assert (first.key, first.value, first.cases) == ("topic", "billing", 20)
    means = [fmean(case.scores["clarity"]) for case in cases]
    own = [mean for mean, case in zip(means, cases, strict=True) if case.metadata["topic"] == "billing"]
    rest = [mean for mean, case in zip(means, cases, strict=True) if case.metadata["topic"] != "billing"]
    assert first.mean == pytest.approx(fmean(own))
    assert first.difference == pytest.approx(fmean(own) - fmean(rest))
    alone = max(scipy_stats.ttest_ind(own, rest, equal_var=equal).pvalue for equal in (True, False))
    assert first.p_value == pytest.approx(alone * len(cells), rel=1e-6)
    assert first.low is not None
    assert first.low < first.mean
    assert all(cell.p_value is not None and cell.p_value > 0.05 for cell in cells if cell.key == "long")


def test_a_slice_below_five_cases_is_shown_but_not_tested(store: Store) -> None:
    cases = [
        Planned({"clarity": [float(1 + at % 5)]}, metadata={"topic": "few" if at < 3 else "rest"}) for at in range(30)
    ]

    cells = slice_cells(store, add_planned(store, 1, cases))

    few = next(cell for cell in cells if cell.value == "few")
    assert (few.p_value, few.low) == (None, None)
    assert few.difference is not None


def test_slices_can_be_asked_for_by_key(store: Store) -> None:
    run = add_planned(store, 1, sliced(Random(3)))

    assert {cell.key for cell in slice_cells(store, run, ["long"])} == {"long"}
    with pytest.raises(UnknownNameError, match="metadata key"):
        slice_cells(store, run, ["lnog"])


def test_cases_without_metadata_have_no_slices(store: Store) -> None:
    assert slice_cells(store, add_planned(store, 1, CASES)) == ()


def test_differences_are_those_of_the_comparison() -> None:
    rng = Random(4)
    values = [[rng.uniform(2, 4) for _ in range(3)] for _ in range(12)]
    comparison = compared(of_metric(values), of_metric([[each + 0.5 for each in row] for row in values]))

    (bar,) = differences_data(comparison).differences

    found = comparison.metrics["quality"]
    assert (bar.difference, bar.low, bar.high) == (found.difference, found.low, found.high)
    assert (bar.threshold, bar.verdict) == (found.threshold, "better")


def test_a_scatter_has_every_case_or_evenly_chosen_ones() -> None:
    rng = Random(5)
    values = [[rng.uniform(2, 4)] for _ in range(4_500)]
    comparison = compared(of_metric(values), of_metric([[each + rng.gauss(0, 0.2) for each in row] for row in values]))

    data = scatter_data(comparison, "quality")

    assert len(data.points) == 1_500
    assert data.left_out == 3_000
    assert data.metric == "quality"


def test_a_trend_has_its_levels_and_what_changed(here: Path) -> None:
    assert here.is_dir()
    settings = read_settings()
    store = Store.open(settings.store)
    rng = Random(6)
    for number in range(12):
        add_run(store, number, drawn(rng, 3.0 if number < 6 else 4.0), prompt="a" if number < 6 else "b")
    store.close()
    trends = read_trends(settings, TrendQuery(metric="clarity"))
    assert trends is not None

    data = trend_data(trends.metrics[0])

    assert [run.change_point for run in data.trend].index(True) == 6
    assert "prompt" in data.trend[6].changed
    change = trends.metrics[0].changes[0]
    assert {run.level for run in data.trend[:6]} == {change.before}
    assert {run.level for run in data.trend[6:]} == {change.after}
    assert data.trend[0].low is not None
    assert data.trend[0].low < data.trend[0].mean


def good(level: float) -> list[Planned]:
    rng = Random(7)
    return [Planned({"clarity": [level + rng.uniform(-0.3, 0.3)]}) for _ in range(20)]


def test_a_run_is_dominated_only_if_the_intervals_say_so(store: Store) -> None:
    levels = {1: (4.0, 2.0), 2: (4.05, 1.0), 3: (2.0, 3.0), 4: (2.0, 0.5), 5: (3.0, None)}
    runs = [add_planned(store, at, good(level), cost=cost) for at, (level, cost) in levels.items()]

    data = cost_data([store.run_line(run) for run in runs], "clarity")

    assert [(point.run, point.dominated) for point in data.costs] == [
        ("00000001", False),
        ("00000002", False),
        ("00000003", True),
        ("00000004", False),
    ]
    assert data.costs[0].cost == pytest.approx(2.0 / 20)
    assert data.left_out == 1


def test_a_report_gets_the_charts_that_have_numbers(here: Path) -> None:
    assert here.is_dir()
    settings = read_settings()
    with closing(Store.open(settings.store)) as store:
        runs = [add_planned(store, at, CASES) for at in (1, 2, 3)]

        found = run_charts(settings, store, runs[-1])

    assert [chart.kind for chart in found] == ["metrics", "distribution", "trend", "cost"]


def test_a_comparison_gets_its_differences_and_a_scatter_for_each_metric() -> None:
    values = [[1.0 + at % 4] for at in range(8)]

    found = comparison_charts(compared(of_metric(values), of_metric(values)))

    assert [chart.kind for chart in found] == ["differences", "scatter"]
