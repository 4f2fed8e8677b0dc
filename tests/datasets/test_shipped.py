"""The data that ships with the product: good enough to be used, and as documented."""

from __future__ import annotations

from pathlib import Path

import pytest
from entries import each

import prompt_evaluator
from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey

ROOT = Path(__file__).parents[2]
BENCHMARKS = Path(prompt_evaluator.__file__).parent / "benchmarks"
SAMPLE = ROOT / "examples/datasets/sample.yaml"
SHIPPED = {
    "guide": [SAMPLE, ROOT / "examples/datasets/sample.jsonl"],
    "benchmark": sorted(BENCHMARKS.glob("*.yaml")),
    "harness": [ROOT / f"evals/tasks/{name}.json" for name in ("code", "web", "docs")],
}
FILES = [pytest.param(path, dialect, id=path.name) for dialect, paths in SHIPPED.items() for path in paths]


@each(("path", "dialect"), FILES)
def test_a_shipped_file_is_valid_and_of_its_dialect(path: Path, dialect: str) -> None:
    found = survey(path)

    assert found.problems == []
    assert found.dialect == dialect


@each("path", [path for paths in SHIPPED.values() for path in paths], ids=lambda path: path.name)
def test_a_shipped_file_has_ten_or_more_different_cases(path: Path) -> None:
    cases = list(open_dataset(path).cases)

    assert len(cases) >= 10
    assert len({case.id for case in cases}) == len(cases)
    assert len({case.input for case in cases}) == len(cases)


def test_the_benchmarks_are_inside_the_package() -> None:
    names = {path.name for path in BENCHMARKS.iterdir()}

    assert {"README.md", "basic-coding.yaml", "tool-use-basic.yaml"} <= names


def test_one_benchmark_is_about_retrieval() -> None:
    with_context = [
        path for path in SHIPPED["benchmark"] if all("context" in case.metadata for case in open_dataset(path).cases)
    ]

    assert with_context


def test_one_benchmark_is_about_tools() -> None:
    cases = open_dataset(BENCHMARKS / "tool-use-basic.yaml").cases

    assert all(check.metric == "tool_correctness" for case in cases for check in case.checks)
    assert any(case.checks for case in cases)


@pytest.mark.parametrize("path", SHIPPED["harness"], ids=lambda path: path.name)
def test_every_task_of_the_harness_can_pass_and_can_hallucinate(path: Path) -> None:
    metrics = [{check.metric for check in case.checks} for case in open_dataset(path).cases]

    assert all(wanted == {"includes", "excludes"} for wanted in metrics)


def test_the_sample_contains_the_ids_that_the_guides_commands_name() -> None:
    cases, _ = load_dataset(SAMPLE)

    assert {"test-001", "test-002", "test-003", "test-004", "test-005"} <= {case.id for case in cases}


def test_the_sample_starts_with_the_cases_of_the_guide() -> None:
    cases, _ = load_dataset(SAMPLE)

    assert [case.input for case in cases[:3]] == [
        "Explain what Python is in simple terms.",
        "Write a function to calculate factorial of a number.",
        "Summarize the water cycle.",
    ]


def test_the_system_prompt_of_the_guides_commands_is_there() -> None:
    assert (ROOT / "prompts/system.txt").read_text("utf-8").strip()
