"""Suites in the configuration file, and the sentence about what cannot be one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import each

from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.config.reading import TOP_LEVEL
from prompt_evaluator.config.schema import config_schema
from prompt_evaluator.errors import InputError
from prompt_evaluator.model.suite import Suite

if TYPE_CHECKING:
    from pathlib import Path

FULL = """
suites:
  nightly:
    title: Every night
    datasets: [tea, coffee, tea]
    models: [openai/a, mock/b]
    metrics: [correctness, {metric: length, max_words: 50}, "length(max_words=5), is_json"]
    judge: openai/judge
    rubric: rubrics/own.yaml
    samples: 3
  plain:
    datasets: [tea]
    models: [mock/a]
    metrics: similarity
    judge:
    rubric: none
  judged:
    datasets: [tea]
    models: [mock/a]
    rubric: mine
rubrics: {mine: other.yaml}
"""
START = "suites:\n  s:\n    datasets: [tea]\n    models: [mock/a]\n"


def suites(folder: Path, text: str) -> dict[str, Suite]:
    (folder / "prompt_evaluator.yaml").write_text(text)
    return load_settings(None, {}, {}, folder).suites


def test_a_suite_has_what_is_written(tmp_path: Path) -> None:
    found = suites(tmp_path, FULL)

    assert found["nightly"] == Suite(
        name="nightly",
        title="Every night",
        datasets=("tea", "coffee"),
        models=("openai/a", "mock/b"),
        metrics=("correctness", {"metric": "length", "max_words": 50}, "length(max_words=5), is_json"),
        judge="openai/judge",
        rubric=str(tmp_path / "rubrics" / "own.yaml"),
        samples=3,
        origin="prompt_evaluator.yaml, line 3",
    )
    assert found["plain"] == Suite(
        name="plain",
        datasets=("tea",),
        models=("mock/a",),
        metrics=("similarity",),
        origin="prompt_evaluator.yaml, line 11",
    )
    assert found["judged"].rubric == str(tmp_path / "other.yaml")
    assert list(found) == ["nightly", "plain", "judged"]


@pytest.mark.parametrize("text", ["", "suites:\n", "suites: {}\n"])
def test_there_may_be_none(text: str, tmp_path: Path) -> None:
    assert suites(tmp_path, text) == {}


@each(
    ("text", "line", "sentence"),
    [
        ("suites: nightly", 1, "`suites` has to be a mapping"),
        ("suites:\n  s: [tea]", 2, "`suites.s` has to be a mapping"),
        ("suites:\n  s:\n    models: [a/b]\n    metrics: x", 2, "`suites.s` has no `datasets`"),
        ("suites:\n  s:\n    datasets: [a]\n    metrics: x", 2, "`suites.s` has no `models`"),
        (START, 2, "`suites.s` has neither `metrics` nor a `rubric`"),
        (f"{START}    rubric: none", 2, "`suites.s` has neither `metrics` nor a `rubric`"),
        (f"{START}    metric: x", 5, "There is no setting `suites.s.metric`"),
        (f"{START}    metrics: [length(]", 5, "A metric in `suites.s.metrics` cannot be used"),
        (f"{START}    metrics: 3", 5, "`suites.s.metrics` has to be a text, a mapping, or a list of these"),
        (f"{START}    samples: 0", 5, "`suites.s.samples` has to be a whole number from 1 to 10,000"),
        (f"{START}    judge: 3", 5, "`suites.s.judge` has to be a non-empty text"),
        (
            "suites:\n  s:\n    datasets: tea",
            3,
            "`suites.s.datasets` has to be a list of names of datasets, not the text",
        ),
        ("suites:\n  s:\n    models: ['']", 3, "`suites.s.models` has to be a list of models"),
    ],
)
def test_a_mistake_is_refused_with_its_line(text: str, line: int, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        suites(tmp_path, text)

    assert sentence in str(caught.value)
    assert f"prompt_evaluator.yaml:{line}: " in str(caught.value)


def test_the_schema_knows_every_field_and_no_other() -> None:
    suite = config_schema()["properties"]["suites"]["additionalProperties"]

    assert "suites" in TOP_LEVEL
    assert set(suite["properties"]) == set(Suite.__struct_fields__) - {"name", "origin"}
    assert suite["additionalProperties"] is False
    assert suite["required"] == ["datasets", "models"]
    assert suite["properties"]["datasets"]["minItems"] == 1
