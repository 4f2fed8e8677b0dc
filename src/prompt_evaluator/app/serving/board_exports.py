"""Leaderboards and trends as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.spreadsheets import csv_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.leaderboard import DatasetBoard, Leaderboard, RankedRun
    from prompt_evaluator.model.trend import MetricTrend, TrendPoint, Trends

_RANKED = (
    *("dataset", "dataset_hash", "judge", "metric", "rank", "run_id", "timestamp_start", "generator_model"),
    *("prompt_version_id", "prompt_hash", "synthetic", "mean", "low", "high", "pass_rate", "pass_low", "pass_high"),
    *("cases", "cost_per_point", "tokens_per_point", "samples", "errors", "cost", "tokens", "left_out_because"),
)
_TREND = (
    *("dataset", "dataset_hash", "judge", "metric", "run_id", "timestamp_start", "status", "generator_model"),
    *("prompt_version_id", "prompt_hash", "synthetic", "mean", "standard_error", "cases", "blip", "differences"),
    *("change_before", "change_after", "change_low", "change_high", "change_p_value"),
)


def leaderboard_csv(found: Leaderboard) -> Iterator[bytes]:
    """A line for each run that is ranked, and for each that is left out, with the reason."""
    yield csv_line(_RANKED)
    for board in found.boards:
        about = (board.dataset_name, board.dataset_hash, board.judge_model, board.metric)
        for run in board.runs:
            yield csv_line((*about, *_ranked(board, run), ""))
        for each in board.left_out:
            unranked = ("", each.run_id, each.started_at, each.model, "", each.prompt_hash)
            rest = [""] * (len(_RANKED) - len(about) - len(unranked) - 1)
            yield csv_line((*about, *unranked, *rest, each.reason))


def trends_csv(trends: Trends | None) -> Iterator[bytes]:
    """A line for each metric of each run, with the change that begins there."""
    yield csv_line(_TREND)
    if trends is None:
        return
    about = (trends.version.dataset_name, trends.version.dataset_hash, trends.version.judge_model)
    for metric in trends.metrics:
        for point in metric.points:
            yield csv_line((*about, metric.name, *_point(point), *_change(metric, point)))


def _ranked(board: DatasetBoard, run: RankedRun) -> tuple[Any, ...]:
    score = run.scores[board.metric]
    low, high = score.interval or ("", "")
    pass_low, pass_high = score.pass_interval or ("", "")
    return (
        *(run.rank, run.run_id, run.started_at, run.model, run.prompt_version, run.prompt_hash, run.synthetic),
        *(score.mean, low, high, score.pass_rate, pass_low, pass_high),
        *(score.cases, score.cost_per_point, score.tokens_per_point, run.samples, run.errors, run.cost, run.tokens),
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
        return ("",) * 5
    return change.before, change.after, change.low, change.high, change.p_value
