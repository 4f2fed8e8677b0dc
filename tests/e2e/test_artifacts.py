"""What a run leaves behind: every promised key, true numbers, and file names that are safe for any id."""

from __future__ import annotations

import hashlib
import json
import statistics
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from workspace import REAL, Workspace

Shape = dict[str, type | tuple[type, ...]]

NONE = type(None)
RUN: Shape = {
    "run_id": str,
    "dataset_path": str,
    "dataset_hash": str,
    "dataset_count": int,
    "dataset_selected": int,
    "num_samples_per_case": int,
    "status": str,
    "timestamp_start": str,
    "timestamp_end": str,
    "system_prompt_path": str,
    "prompt_version_id": (str, NONE),
    "prompt_hash": str,
    "run_notes": (str, NONE),
    "generator_config": dict,
    "judge_config": dict,
    "rubric_metadata": dict,
    "test_case_results": list,
    "overall_metric_stats": dict,
    "overall_flag_stats": dict,
    "parent_run_id": NONE,
    "group_id": str,
    "synthetic": bool,
    "stop_reason": NONE,
    "totals": dict,
}
CASE: Shape = {
    "test_case_id": str,
    "test_case_input": str,
    "test_case_metadata": dict,
    "num_samples": int,
    "samples": list,
    "per_metric_stats": dict,
    "per_flag_stats": dict,
    "status": str,
    "timestamp_start": str,
    "timestamp_end": str,
    "error_message": NONE,
}
SAMPLE: Shape = {
    "sample_id": str,
    "input_text": str,
    "generator_output": str,
    "status": str,
    "task_description": (str, NONE),
    "judge_metrics": dict,
    "judge_flags": dict,
    "judge_overall_comment": str,
    "judge_raw_response": str,
    "input_tokens": int,
    "output_tokens": int,
    "cost": (float, NONE),
    "latency_ms": float,
    "tries": int,
    "error": NONE,
}
METRIC: Shape = {"mean": float, "std": (float, NONE), "min": float, "max": float, "count": int, "interval": list}
FLAG: Shape = {"true_count": int, "false_count": int, "total_count": int, "true_proportion": float}
OVERALL: Shape = {
    "mean_of_means": float,
    "min_of_means": float,
    "max_of_means": float,
    "num_cases": int,
    "interval": list,
}


def _fits(value: dict[str, Any], shape: Shape) -> None:
    for key, kind in shape.items():
        assert isinstance(value[key], kind), f"{key} is {value[key]!r}"


def _sha(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_every_promised_key_is_there_with_its_type(online: Workspace) -> None:
    online.cases(5)

    artifact = online.evaluate(*REAL, "-n", "3").artifact

    _fits(artifact, RUN)
    assert artifact["status"] == "completed"
    for name in ("model", "temperature", "max_tokens", "seed"):
        assert name in artifact["generator_config"]
        assert name in artifact["judge_config"]
    for case in artifact["test_case_results"]:
        _fits(case, CASE)
        assert len(case["samples"]) == case["num_samples"] == 3
        for sample in case["samples"]:
            _fits(sample, SAMPLE)
        for stats in case["per_metric_stats"].values():
            _fits(stats, METRIC)
        for stats in case["per_flag_stats"].values():
            _fits(stats, FLAG)
    for stats in artifact["overall_metric_stats"].values():
        _fits(stats, OVERALL)
    for stats in artifact["overall_flag_stats"].values():
        _fits(stats, FLAG)
    assert datetime.fromisoformat(artifact["timestamp_start"]) <= datetime.fromisoformat(artifact["timestamp_end"])
    assert artifact["timestamp_start"].endswith("Z")


def test_paths_are_absolute_and_hashes_are_those_of_the_files(offline: Workspace) -> None:
    rubric = Path(__file__).parents[2] / "src/prompt_evaluator/metrics/rubrics/code-review.yaml"
    own = offline.write("rubrics/mine.yaml", rubric.read_bytes())

    artifact = offline.evaluate("--rubric", "rubrics/mine.yaml", "-o", "out/here").artifact

    assert artifact["dataset_path"] == str(offline.folder / "data.jsonl")
    assert artifact["dataset_hash"] == _sha(offline.folder / "data.jsonl")
    assert artifact["system_prompt_path"] == str(offline.folder / "prompt.txt")
    assert artifact["prompt_hash"] == _sha(offline.folder / "prompt.txt")
    assert artifact["rubric_metadata"]["rubric_path"] == str(own)
    assert artifact["rubric_metadata"]["rubric_hash"] == _sha(own)
    assert (offline.folder / "out/here" / artifact["run_id"] / "dataset_evaluation.json").exists()
    assert (offline.folder / ".prompt_evaluator/store.db").exists()


def test_the_numbers_are_those_that_anybody_would_compute(online: Workspace) -> None:
    online.cases(7)

    artifact = online.evaluate(*REAL, "-n", "4", "--seed", "1").artifact

    for metric, overall in artifact["overall_metric_stats"].items():
        means = []
        for case in artifact["test_case_results"]:
            scores = [sample["judge_metrics"][metric]["score"] for sample in case["samples"]]
            stats = case["per_metric_stats"][metric]
            assert stats["mean"] == pytest.approx(statistics.mean(scores))
            assert stats["std"] == pytest.approx(statistics.stdev(scores))
            assert (stats["min"], stats["max"], stats["count"]) == (min(scores), max(scores), 4)
            half = 3.182446 * stats["std"] / 2
            assert stats["interval"] == pytest.approx([max(1, stats["mean"] - half), min(5, stats["mean"] + half)])
            assert (stats["variability"] == "high") == (stats["std"] > 1.0 or stats["std"] > 0.2 * stats["mean"])
            means.append(stats["mean"])
        assert overall["mean_of_means"] == pytest.approx(statistics.mean(means))
        assert (overall["min_of_means"], overall["max_of_means"]) == pytest.approx((min(means), max(means)))
        assert overall["num_cases"] == 7
        assert overall["interval"][0] < overall["mean_of_means"] < overall["interval"][1]
    for flag, overall in artifact["overall_flag_stats"].items():
        values = [sample["judge_flags"][flag] for case in artifact["test_case_results"] for sample in case["samples"]]
        assert (overall["true_count"], overall["false_count"]) == (sum(values), 28 - sum(values))
        assert overall["true_proportion"] == pytest.approx(sum(values) / 28)


def test_the_spread_of_one_sample_is_null_and_not_zero(offline: Workspace) -> None:
    artifact = offline.evaluate("-n", "1").artifact

    for case in artifact["test_case_results"]:
        for stats in case["per_metric_stats"].values():
            assert (stats["std"], stats["interval"], stats["variability"]) == (None, None, None)


def test_cases_are_in_the_order_of_the_file_and_case_files_hold_the_same(offline: Workspace) -> None:
    ids = ["zebra", "apple", "mango", "Banana"]
    offline.cases([{"id": case_id, "input": f"{case_id}?", "rank": at} for at, case_id in enumerate(ids)])

    done = offline.evaluate("-n", "2")

    assert [case["test_case_id"] for case in done.artifact["test_case_results"]] == ids
    for case in done.artifact["test_case_results"]:
        path = offline.folder / "runs" / done.run_id / f"test_case_{case['test_case_id']}.json"
        assert json.loads(path.read_bytes()) == case


def test_the_index_has_the_shape_of_the_guide(offline: Workspace) -> None:
    first = offline.evaluate("--run-note", "Baseline with temp=0.7")
    second = offline.evaluate("--run-note", "Optimized with temp=0.3", "-t", "0.3")

    one, two = offline.index()

    assert [one["run_id"], two["run_id"]] == [first.run_id, second.run_id]
    assert one["description"] == "Baseline with temp=0.7"
    assert one["dataset_hash"] == two["dataset_hash"] == first.artifact["dataset_hash"]
    assert one["rubric_hash"] == first.artifact["rubric_metadata"]["rubric_hash"]
    assert one["overall_metrics"] == first.artifact["overall_metric_stats"]
    assert one["overall_metrics"]["semantic_fidelity"]["mean_of_means"] > 0


def test_entries_that_somebody_else_wrote_stay_in_the_index(offline: Workspace) -> None:
    mine = {"run_id": "uuid-1", "description": "by hand", "notes": ["kept"]}
    offline.write("runs/index.json", json.dumps({"runs": [mine]}))

    offline.evaluate("-n", "1")

    assert mine in offline.index()
    assert len(offline.index()) == 2


def test_what_the_mock_has_a_part_in_is_marked_synthetic(online: Workspace) -> None:
    made_up = online.evaluate("-n", "1")
    real = online.evaluate(*REAL, "-n", "1")
    judged = online.evaluate(*REAL, "-n", "1", "--judge-model", "mock/default", "--allow-mock-judge")
    scored = online.run("score", real.run_id, "--judge-model", "mock/default", "--allow-mock-judge", "--json")

    assert [done.artifact["synthetic"] for done in (made_up, real, judged, scored)] == [True, False, True, True]
    assert "SYNTHETIC" in online.run("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "-n", "1").out
