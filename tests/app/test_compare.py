"""Comparing runs, as commands and servers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from artifact_files import artifact, scored_case

from prompt_evaluator.app.compare import compare_runs, comparison_document, open_comparison
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.model.comparison import CompareOptions

if TYPE_CHECKING:
    from pathlib import Path


def write_run(folder: Path, name: str, score: float, **facts: Any) -> str:
    cases = [{**scored_case(f"case-{at}", "clarity", [score] * 3), "test_case_input": f"Why {at}?"} for at in range(8)]
    for at, case in enumerate(cases):
        for number, sample in enumerate(case["samples"]):
            sample["generator_output"] = f"{name} {at} {number}"
    path = folder / f"{name}.json"
    path.write_bytes(artifact(*cases, run_id=name, **facts))
    return str(path)


def test_every_other_run_is_compared_with_the_first(here: Path) -> None:
    names = [write_run(here, "a", 4), write_run(here, "b", 2), write_run(here, "c", 5)]

    found = compare_runs(read_settings(), names)

    assert [each.metrics["clarity"].difference for each in found] == [-2, 1]
    assert [(each.baseline.path, each.candidate.path) for each in found] == [(names[0], names[1]), (names[0], names[2])]
    assert [each.metrics["clarity"].verdict for each in found] == ["worse", "better"]


def test_answers_and_input_can_be_asked_for_while_a_comparison_is_open(here: Path) -> None:
    names = [write_run(here, "a", 4), write_run(here, "b", 2), write_run(here, "c", 5)]

    with open_comparison(read_settings(), names) as opened:
        last = opened.comparisons[-1]
        answers, asked = opened.answers(last, "case-3"), opened.input(last, "case-3")

    assert [each.answer for each in answers.baseline] == ["a 3 0", "a 3 1", "a 3 2"]
    assert [each.answer for each in answers.candidate] == ["c 3 0", "c 3 1", "c 3 2"]
    assert asked == "Why 3?"


def test_options_decide_what_is_compared(here: Path) -> None:
    names = [write_run(here, name, 4, dataset_hash=f"sha256:{name * 64}") for name in "ab"]

    with pytest.raises(IncomparableError):
        compare_runs(read_settings(), names)
    [found] = compare_runs(read_settings(), names, CompareOptions(allow_different=True))

    assert found.common_cases == 8


def test_a_comparison_as_json_has_the_documented_keys(here: Path) -> None:
    [found] = compare_runs(read_settings(), [write_run(here, "a", 4), write_run(here, "b", 2)])

    document = comparison_document(found)
    rows = list(map(msgspec.to_builtins, document["cases"]))

    assert {"baseline", "candidate", "common_cases", "metrics", "flags", "cases", "slices", "differs"} <= {*document}
    assert (document["baseline"], document["candidate"]) == (str(here / "a.json"), str(here / "b.json"))
    assert rows[0].pop("p_value") == pytest.approx(1 / 20)
    assert rows[0] == {
        "test_case_id": "case-0",
        "metric": "clarity",
        "baseline": 4.0,
        "candidate": 2.0,
        "class": "worse",
    }
    whole = msgspec.json.decode(msgspec.json.encode({**document, "cases": rows}))
    of_the_metric = {"baseline_mean", "candidate_mean", "difference", "low", "high", "p_value", "effect_size", "wins"}
    assert of_the_metric | {"losses", "ties", "verdict", "more_cases_needed", "detectable"} <= {
        *whole["metrics"]["clarity"]
    }
