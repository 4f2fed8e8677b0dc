"""Trends as a JSON object, with keys named as in the artifacts where they occur there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from prompt_evaluator.model.trend import (
        MetricFindings,
        MetricTrend,
        RunVersion,
        TrendChange,
        TrendFindings,
        TrendPoint,
        Trends,
    )


def trends_document(trends: Trends | None, found: TrendFindings | None) -> dict[str, Any]:
    """The runs and the changes of each metric; no runs at all if both are None."""
    if trends is None or found is None:
        return {"dataset": None, "judge": None, "runs": 0, "metrics": {}, "left_out": [], "others": [], "notes": []}
    version = _version(trends.version)
    return {
        "dataset": {"name": version["dataset_name"], "hash": version["dataset_hash"]},
        "judge": {"model": version["judge_model"], "hash": version["judge_hash"]},
        "runs": trends.runs,
        "more_runs": trends.more_runs,
        "metrics": {metric.name: _metric(metric, found.metrics[metric.name]) for metric in trends.metrics},
        "left_out": [msgspec.to_builtins(run) for run in trends.left_out],
        "others": [_version(each) for each in trends.others],
        "notes": found.notes,
        "next_step": found.next_step,
    }


def _version(version: RunVersion) -> dict[str, Any]:
    values = msgspec.structs.asdict(version)
    for name in ("dataset_hash", "judge_hash"):
        values[name] = f"sha256:{values[name]}" if values[name] else None
    return values


def _metric(metric: MetricTrend, found: MetricFindings) -> dict[str, Any]:
    return {
        "sentence": found.sentence,
        "scale": metric.scale,
        "changes": [_change(change) for change in metric.changes],
        "points": [_point(point) for point in metric.points],
        "noise": metric.noise,
        "common_cases": metric.common_cases,
        "left_out": metric.left_out,
        "excess_std": metric.excess_std,
        "excess_included": metric.excess_included,
        "notes": found.notes,
    }


def _change(change: TrendChange) -> dict[str, Any]:
    values = msgspec.structs.asdict(change)
    started_at = values.pop("started_at")
    return {**values, "timestamp_start": started_at, "difference": change.after - change.before}


def _point(point: TrendPoint) -> dict[str, Any]:
    return {
        "run_id": point.run_id,
        "timestamp_start": point.started_at,
        "status": point.status,
        "mean": point.mean,
        "standard_error": point.error,
        "cases": point.cases,
        "prompt_version_id": point.prompt_version,
        "prompt_hash": f"sha256:{point.prompt_hash}" if point.prompt_hash else None,
        "generator_model": point.generator_model,
        "synthetic": point.synthetic,
        "blip": point.blip,
        "differences": point.differences,
    }
