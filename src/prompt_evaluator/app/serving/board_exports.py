"""Leaderboards and trends as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.serving.table_files import TableFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.leaderboard import DatasetBoard, Leaderboard, RankedRun
    from prompt_evaluator.model.trend import MetricTrend, TrendPoint, Trends

_RANKED = (
    *("dataset", "dataset_hash", "judge", "metric", "rank", "run_id", "timestamp_start", "generator_model"),
    *("prompt_version_id", "prompt_hash", "synthetic", "mean", "low", "high", "pass_rate", "pass_low", "pass_high"),
    *("cases", "samples", "errors", "cost", "tokens", "left_out_because"),
)
_TREND = (
    *("dataset", "dataset_hash", "judge", "metric", "run_id", "timestamp_start", "status", "generator_model"),
    *("prompt_version_id", "prompt_hash", "synthetic", "mean", "standard_error", "cases", "blip", "differences"),
    *("change_before", "change_after", "change_low", "change_high", "change_p_value"),
)


def leaderboard_file(found: Leaderboard) -> TableFile:
    """A row for each run that is ranked, and for each that is left out, with the reason."""
    rows: list[Sequence[Any]] = []
    for board in found.boards:
        about = (board.dataset_name, board.dataset_hash, board.judge_model, board.metric)
        rows += [(*about, *_ranked(board, run), None) for run in board.runs]
        for each in board.left_out:
            unranked = (None, each.run_id, each.started_at, each.model, None, each.prompt_hash)
            rest = [None] * (len(_RANKED) - len(about) - len(unranked) - 1)
            rows.append((*about, *unranked, *rest, each.reason))
    return TableFile(_RANKED, rows, "run")


def trends_file(trends: Trends | None) -> TableFile:
    """A row for each metric of each run, with the change that begins there."""
    if trends is None:
        return TableFile(_TREND, (), "run")
    about = (trends.version.dataset_name, trends.version.dataset_hash, trends.version.judge_model)
    rows = [
        (*about, metric.name, *_point(point), *_change(metric, point))
        for metric in trends.metrics
        for point in metric.points
    ]
    return TableFile(_TREND, rows, "run")


def _ranked(board: DatasetBoard, run: RankedRun) -> tuple[Any, ...]:
    score = run.scores[board.metric]
    low, high = score.interval or (None, None)
    pass_low, pass_high = score.pass_interval or (None, None)
    return (
        *(run.rank, run.run_id, run.started_at, run.model, run.prompt_version, run.prompt_hash, run.synthetic),
        *(score.mean, low, high, score.pass_rate, pass_low, pass_high),
        *(score.cases, run.samples, run.errors, run.cost, run.tokens),
    )


def _point(point: TrendPoint) -> tuple[Any, ...]:
    return (
        *(point.run_id, point.started_at, point.status, point.generator_model, point.prompt_version),
        *(point.prompt_hash, point.synthetic, point.mean, point.error, point.cases, point.blip),
        ", ".join(each.text for each in point.differences),
    )


def _change(metric: MetricTrend, point: TrendPoint) -> tuple[Any, ...]:
    change = next((each for each in metric.changes if each.run_id == point.run_id), None)
    if change is None:
        return (None,) * 5
    return change.before, change.after, change.low, change.high, change.p_value
