"""Files of runs that were made elsewhere, with the keys that the dataset guide shows."""

from __future__ import annotations

import json
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

GUIDE: dict[str, Any] = {
    "run_id": "uuid",
    "dataset_path": "/data/tea.yaml",
    "dataset_hash": "sha256:AB12",
    "dataset_count": 100,
    "num_samples_per_case": 3,
    "status": "completed",
    "timestamp_start": "2026-01-01T00:00:00Z",
    "timestamp_end": None,
    "system_prompt_path": "prompt.txt",
    "generator_config": {"model": "gpt", "temperature": 1},
    "judge_config": {"model": "judge"},
    "rubric_metadata": {"rubric_hash": "sha256:cd"},
    "overall_metric_stats": {},
    "overall_flag_stats": {},
}


def artifact(*cases: dict[str, Any], **head: Any) -> bytes:
    return json.dumps({**GUIDE, **head, "test_case_results": list(cases)}).encode()


def scored_case(case_id: str, metric: str, scores: Sequence[float]) -> dict[str, Any]:
    """A case with these scores of its samples."""
    stats = {
        "mean": fmean(scores),
        "std": stdev(scores) if len(scores) > 1 else None,
        "min": min(scores),
        "max": max(scores),
        "count": len(scores),
    }
    samples = [
        {"status": "completed", "judge_metrics": {metric: {"score": score, "rationale": ""}}} for score in scores
    ]
    return {"test_case_id": case_id, "status": "completed", "samples": samples, "per_metric_stats": {metric: stats}}
