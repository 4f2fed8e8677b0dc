"""Runs of the harness for tests, made without running it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prompt_evaluator.model.harness import HarnessAttempt, HarnessEvaluation, HarnessRun, HarnessSummary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

OUTPUT = "what the model wrote"


def summary(config_id: str = "a", **more: Any) -> HarnessSummary:
    usual: dict[str, Any] = {
        "total_tasks": 20,
        "task_completion_rate": 95.0,
        "retries_per_task": 0.2,
        "hallucination_incidents": 0,
        "latency_avg_ms": 800.0,
    }
    return HarnessSummary(config_id=config_id, **(usual | more))


def evaluation(config_id: str = "a", task_id: str = "one", **more: Any) -> HarnessEvaluation:
    usual: dict[str, Any] = {
        "completion_pass": True,
        "retries_used": 0,
        "hallucination_incident": False,
        "latency_ms": 800.0,
        "output_sample": OUTPUT,
        "attempts": (HarnessAttempt(attempt=0, output=OUTPUT, completion_pass=True, latency_ms=800.0),),
    }
    return HarnessEvaluation(config_id=config_id, task_id=task_id, **(usual | more))


def harness_run(run_id: str = "run-1", *summaries: HarnessSummary, **more: Any) -> HarnessRun:
    usual: dict[str, Any] = {"timestamp": "2026-11-16T06:00:00.000Z", "evaluations": (evaluation(),)}
    return HarnessRun(run_id=run_id, summaries=summaries or (summary(),), **(usual | more))


def foreign_summary(config_id: str = "a", **more: Any) -> dict[str, Any]:
    """A summary with the documented keys only."""
    return {
        "configId": config_id,
        "totalTasks": 20,
        "taskCompletionRate": 95,
        "retriesPerTask": 0.2,
        "hallucinationIncidents": 0,
        "latencyAvgMs": 800,
    } | more


def foreign_run(run_id: str, *summaries: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A run with the documented keys only."""
    about = {"runId": run_id, "timestamp": "2026-11-16T06:00:00.000Z", "evaluations": []}
    return {**about, "summaries": [*(summaries or (foreign_summary(),))], **more}


def write_history(results: Path, runs: Sequence[dict[str, Any]]) -> Path:
    results.mkdir(parents=True, exist_ok=True)
    path = results / "history.json"
    path.write_text(json.dumps(runs), encoding="utf-8")
    return path
