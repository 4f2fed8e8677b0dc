"""A suite is every model on every dataset, and what a caller gives goes before what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each

from prompt_evaluator.app.suites import find_suite, list_suites, metric_text, suite_parts, with_suite
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import CommandLine
from prompt_evaluator.model.options import EvaluateOptions

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings

CONFIGURATION = """
dataset_paths: {support: more.jsonl}
suites:
  nightly:
    datasets: [tea, support]
    models: [mock/a, mock/b]
    metrics: [similarity, {metric: length, max_words: 50}]
    judge: mock/judge
    samples: 3
  wrong: {datasets: [tea, suport], models: [mock/a], metrics: similarity}
  broken: {datasets: [broken], models: [mock/a], metrics: similarity}
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "tea.jsonl").write_text('{"id": "a", "input": "x"}\n')
    (tmp_path / "benchmarks" / "broken.jsonl").write_text("{}\n")
    (tmp_path / "more.jsonl").write_text('{"id": "a", "input": "x"}\n')
    (tmp_path / "prompt_evaluator.yaml").write_text(CONFIGURATION)
    return load_settings(None, {}, {}, tmp_path)


def test_suites_are_listed_and_one_with_an_unknown_dataset_says_so(settings: Settings) -> None:
    found = {suite.name: suite.error for suite in list_suites(settings)}

    assert found == {
        "nightly": None,
        "wrong": "There is no dataset 'suport'. Did you mean 'support'?",
        "broken": None,
    }


def test_an_unknown_suite_is_refused_with_the_nearest(settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match=r"^There is no suite 'nigthly'. Did you mean 'nightly'\?$"):
        find_suite(settings, "nigthly")


def test_every_model_meets_every_dataset(settings: Settings) -> None:
    parts = suite_parts(settings, find_suite(settings, "nightly"), EvaluateOptions(num_samples=3))

    assert [(part.member.dataset, part.member.model) for part in parts] == [
        ("tea", "mock/a"),
        ("tea", "mock/b"),
        ("support", "mock/a"),
        ("support", "mock/b"),
    ]
    assert [part.options.dataset and part.options.dataset.name for part in parts] == [
        *("tea.jsonl", "tea.jsonl", "more.jsonl", "more.jsonl")
    ]
    assert [part.options.generator_model for part in parts] == ["mock/a", "mock/b"] * 2


def test_other_models_take_the_place_of_its_own(settings: Settings) -> None:
    parts = suite_parts(settings, find_suite(settings, "nightly"), EvaluateOptions(), ["mock/c", "mock/c"])

    assert [part.member.model for part in parts] == ["mock/c", "mock/c"]
    assert [part.member.dataset for part in parts] == ["tea", "support"]


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        ({}, {"judge_model": "mock/judge", "num_samples": 3, "rubric": None}),
        ({"num_samples": 1}, {"num_samples": 1, "judge_model": "mock/judge"}),
        ({"judge_model": "mock/x", "rubric": "none"}, {"judge_model": "mock/x", "rubric": "none"}),
        ({}, {"metrics": ("similarity", {"metric": "length", "max_words": 50})}),
        ({"metrics": ("is_json",)}, {"metrics": ("is_json",)}),
        ({"metrics_file": "m.yaml"}, {"metrics": None, "metrics_file": "m.yaml"}),
    ],
)
def test_it_fills_in_what_was_not_given(given: dict[str, Any], filled: dict[str, Any], settings: Settings) -> None:
    found = with_suite(find_suite(settings, "nightly"), given)

    assert {name: found[name] for name in filled} == filled


def test_a_dataset_that_is_unknown_or_broken_is_an_error(settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'support'"):
        suite_parts(settings, find_suite(settings, "wrong"), EvaluateOptions())
    with pytest.raises(ConfigurationError, match="The dataset 'broken' cannot be used"):
        suite_parts(settings, find_suite(settings, "broken"), EvaluateOptions())


def test_the_command_of_a_run_names_everything_in_place_of_the_suite(settings: Settings) -> None:
    flags = (("--suite", "nightly"), ("--num-samples", "9"), ("--seed", "1"))
    typed = CommandLine(name=("benchmark", "run"), options=flags, folder="/")

    parts = suite_parts(settings, find_suite(settings, "nightly"), EvaluateOptions(command=typed))

    command = parts[-1].options.command
    assert command is not None
    assert sorted(command.options) == [
        ("--dataset", "support"),
        ("--judge-model", "mock/judge"),
        ("--metrics", "length(max_words=50)"),
        ("--metrics", "similarity"),
        ("--model", "mock/b"),
        ("--num-samples", "9"),
        ("--seed", "1"),
    ]


@each(
    ("use", "text"),
    [
        ("similarity", "similarity"),
        ({"metric": "is_json"}, "is_json"),
        ({"length": {"max_words": 50}}, "length(max_words=50)"),
        ({"metric": "regex", "pattern": 'a, "b")', "not": True}, 'regex(not=true, pattern="a, \\"b\\")")'),
        ({"metric": "includes", "phrases": ["a", "b"], "name": "n"}, 'includes(name="n", phrases=["a","b"])'),
    ],
)
def test_a_metric_is_written_as_on_the_command_line(use: str | dict[str, Any], text: str) -> None:
    assert metric_text(use) == text
