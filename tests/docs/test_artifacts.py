"""The page about artifacts knows every key that a run writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from prompt_evaluator import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "run-artifacts"
KEYS = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "reference" / "artifacts.md").read_text(encoding="utf-8")))
_BY_NAME = {
    "cases",
    "errors",
    "fail_over",
    "fail_under",
    "flags",
    "judge_flags",
    "judge_metrics",
    "metrics",
    "missing_scores",
    "not_measured",
    "overall_flag_stats",
    "overall_flags",
    "overall_metric_stats",
    "overall_metrics",
    "per_flag_stats",
    "per_metric_stats",
    "samples",
    "scores",
    "skipped",
}
"""What holds entries under names of the user's or the run's own."""
_FREE = {
    "arguments",
    "details",
    "metrics_config",
    "params",
    "prepared_metrics",
    "reduced",
    "tags",
    "test_case_metadata",
}
"""Whose inside is not ours."""


def keys_of(value: Any, holder: str = "") -> Iterator[str]:
    if holder in _FREE:
        return
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if holder not in _BY_NAME:
                yield key
            yield from keys_of(inner, "" if holder in _BY_NAME else key)


@pytest.mark.parametrize("name", ["run-sample.json", "index.json"])
def test_every_key_of_the_examples_is_explained(name: str) -> None:
    found = set(keys_of(msgspec.json.decode((EXAMPLES / name).read_bytes())))

    assert found
    assert not found - KEYS


def test_every_key_of_a_run_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    case = {"id": "a", "input": "Hello", "reference": "Hello", "topic": "greetings"}
    run = evaluate([case], metrics=["is_json", "correctness"], samples=2, judge_repeats=2)
    folder = tmp_path / "runs" / run.run_id
    files = (folder / "dataset_evaluation.json", folder / "test_case_a.json", tmp_path / "runs" / "index.json")

    found = {key for file in files for key in keys_of(msgspec.json.decode(file.read_bytes()))}

    assert {"judge_repeats", "pass_interval", "metrics_config", "runs"} <= found
    assert not found - KEYS
