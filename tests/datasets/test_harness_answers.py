"""The harness tasks that ship, put to answers as people write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from entries import each
from scoring import score

from prompt_evaluator.datasets import open_dataset
from prompt_evaluator.model import Scored

TASKS = {
    case.id: case
    for name in ("code", "docs", "web")
    for case in open_dataset(Path(__file__).parents[2] / f"evals/tasks/{name}.json").cases
}
ANSWERS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("harness_answers.yaml").read_text("utf-8"))
GOOD = [
    pytest.param(case_id, answer, id=f"{case_id}-{number}")
    for case_id, answers in ANSWERS.items()
    for number, answer in enumerate(answers["good"], start=1)
]


def test_every_task_that_ships_has_answers_of_two_authors_and_a_bad_one() -> None:
    assert ANSWERS.keys() == TASKS.keys()
    assert all(len(answers["good"]) > 1 and answers["bad"] for answers in ANSWERS.values())


@each(("case_id", "answer"), GOOD)
async def test_a_good_answer_passes(case_id: str, answer: str) -> None:
    found = await score("signals", answer, on=TASKS[case_id])

    assert found == Scored(1.0, "", {"missing": [], "forbidden": []})


@each("case_id", ANSWERS)
async def test_a_bad_answer_fails(case_id: str) -> None:
    found = await score("signals", ANSWERS[case_id]["bad"], on=TASKS[case_id])

    assert isinstance(found, Scored)
    assert found.value == 0
    assert found.reason
