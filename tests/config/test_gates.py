"""`gates.yaml`: what it may say, and what is said about mistakes in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from entries import each

from prompt_evaluator.config.gates import find_policy, read_policy
from prompt_evaluator.errors import InputError
from prompt_evaluator.model.gate import GatePolicy, Guardrails

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """\
baseline: main
level: 0.02
metrics:
  correct: 0.2
  tone:
case_minimum:
  correct: 2
slices: [category, level]
guardrails:
  level: 0.005
  flags: {rude: 0.1, leaks: false}
  errors: 0.1
  cost: 0.5
  latency: false
"""


def policy(folder: Path, text: str) -> GatePolicy:
    path = folder / "gates.yaml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path)


def test_a_whole_policy_is_read(tmp_path: Path) -> None:
    found = policy(tmp_path, WHOLE)

    assert found == GatePolicy(
        metrics={"correct": 0.2, "tone": None},
        level=0.02,
        case_minimum={"correct": 2.0},
        slices=("category", "level"),
        guardrails=Guardrails(
            level=0.005, flag_margins={"rude": 0.1, "leaks": None}, errors=0.1, cost=0.5, latency=None
        ),
        baseline="main",
        path=str(tmp_path / "gates.yaml"),
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_an_empty_policy_is_the_built_in_one(tmp_path: Path, text: str) -> None:
    assert policy(tmp_path, text) == GatePolicy(path=str(tmp_path / "gates.yaml"))


def test_metrics_may_be_a_list_and_guardrails_may_all_be_off(tmp_path: Path) -> None:
    found = policy(tmp_path, "metrics: [correct, tone]\nguardrails: false\n")

    assert found.metrics == {"correct": None, "tone": None}
    assert found.guardrails == Guardrails(flags=None, errors=None, cost=None, latency=None)


@each(
    ("text", "line", "said"),
    [
        ("level: 0.05\nmetricks: [a]\n", 2, "Did you mean `metrics`"),
        ("guardrails:\n  latncy: 0.1\n", 2, "There is no setting `guardrails.latncy`"),
        ("level: 5 %\n", 1, "`level` has to be a number from 0.0001 to 0.5, not the text '5 %'. It is how often"),
        ("metrics:\n  a: -0.1\n", 2, "a number from 0 to 2,000,000,000"),
        ("metrics:\n  a: .nan\n", 2, "is not a finite number"),
        ("metrics: {}\n", 1, "at least one metric"),
        ("metrics: [1]\n", 1, "a list of metrics"),
        ("slices: {a: 1}\n", 1, "a list of metadata keys"),
        ("slices: ['']\n", 1, "a list of metadata keys"),
        ("case_minimum:\n  a: low\n", 2, "a number from -1,000,000,000 to"),
        ("guardrails: yes\n", 1, "a mapping"),
        ("guardrails:\n  cost: cheap\n", 2, "or false to turn it off"),
        ("guardrails:\n  flags:\n    rude: -1\n", 3, "or false to turn it off"),
        ("baseline: [a]\n", 1, "the name of a run"),
        ("- a\n", None, "is not a mapping"),
        ("level: [\n", None, ""),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, line: int | None, said: str) -> None:
    with pytest.raises(InputError) as caught:
        policy(tmp_path, text)

    assert said in str(caught.value)
    assert str(tmp_path / "gates.yaml") in str(caught.value)
    if line is not None:
        assert caught.value.line == line


def test_a_policy_is_found_in_the_folder_but_not_if_it_is_somebody_elses(tmp_path: Path) -> None:
    assert find_policy(tmp_path) is None
    path = tmp_path / "gates.yaml"
    path.write_text("level: 0.1\n", encoding="utf-8")
    assert find_policy(tmp_path) == path
    if os.geteuid():
        pytest.skip("only root can give a file away")
    os.chown(path, 54_321, 54_321)

    with pytest.raises(InputError, match="--policy"):
        find_policy(tmp_path, {})
    assert find_policy(tmp_path, {"PROMPT_EVALUATOR_TRUST": str(tmp_path)}) == path
