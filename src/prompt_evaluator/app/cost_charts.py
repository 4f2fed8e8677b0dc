"""The numbers of charts about what quality costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from prompt_evaluator.app.chart_data import stats_of
from prompt_evaluator.app.prompt_names import target_names
from prompt_evaluator.model.chart import ChartData, CostPoint
from prompt_evaluator.model.run_facts import SHORT_ID
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model.leaderboard import DatasetBoard
    from prompt_evaluator.model.query import RunLine


class _Priced(NamedTuple):
    """A run with a known cost."""

    name: str
    cost: float
    """Of a sample."""
    mean: float
    interval: tuple[float, float] | None
    link: str | None = None


def cost_data(lines: Sequence[RunLine], metric: str) -> ChartData:
    """Cost and quality of runs."""
    known = [
        (_Priced(name, cost, stats.mean_of_means, stats.interval), stats.scale)
        for line, name in zip(lines, _run_names(lines), strict=True)
        if (stats := stats_of(line).get(metric)) and (cost := _cost_of_sample(line)) is not None
    ]
    return ChartData(
        kind="cost",
        title=f"Cost and {metric} of {many(len(lines), 'run')}",
        costs=tuple(_points([priced for priced, _ in known])),
        metric=metric,
        scale=known[0][1] if known else None,
        left_out=len(lines) - len(known),
    )


def board_data(board: DatasetBoard) -> ChartData:
    """Cost and quality of the runs that are ranked, each with the address of its page."""
    names = target_names(board)
    known = [
        _Priced(
            names[run.run_id],
            run.cost_per_sample,
            run.scores[board.metric].mean,
            run.scores[board.metric].interval,
            f"/runs/{quote(run.run_id, safe='')}",
        )
        for run in board.runs
        if run.cost_per_sample is not None
    ]
    return ChartData(
        kind="cost",
        title=f"Cost and {board.metric}",
        costs=tuple(_points(known)),
        metric=board.metric,
        scale=board.runs[0].scores[board.metric].scale,
        left_out=len(board.runs) - len(known),
    )


def _run_names(lines: Sequence[RunLine]) -> list[str]:
    """Short names of runs: the beginning of the id, and the prompt version or model where these differ."""
    names = [line.run_id[:SHORT_ID] for line in lines]
    for field in ("prompt_version", "generator_model"):
        values = [getattr(line, field) for line in lines]
        if len(set(values)) > 1:
            return [f"{name} {value}" if value else name for name, value in zip(names, values, strict=True)]
    return names


def _points(known: Sequence[_Priced]) -> Iterable[CostPoint]:
    for each in known:
        low, high = each.interval or (None, None)
        yield CostPoint(
            run=each.name,
            cost=each.cost,
            mean=each.mean,
            low=low,
            high=high,
            dominated=any(_beats(other, each) for other in known),
            link=each.link,
        )


def _beats(one: _Priced, other: _Priced) -> bool:
    """Whether a run costs at most as much and its interval lies above the other's."""
    if one.interval is None or other.interval is None:
        return False
    return one.cost <= other.cost and one.interval[0] > other.interval[1]


def _cost_of_sample(line: RunLine) -> float | None:
    if line.cost is None or line.summary is None:
        return None
    samples = sum(count for status, count in line.summary.totals.samples.items() if status != "pending")
    return line.cost / samples if samples else None
