from __future__ import annotations

from typing import Any

import pytest

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Message, ModelConfig, Request, TestCase
from prompt_evaluator.pipeline.messages import Asker, fill
from prompt_evaluator.pipeline.naming import unit_name

CASE = TestCase(id="a", input="hello {{task}}", task="greet", metadata={"n": 3, "deep": {"er": ["x"]}, "": 1})
CONFIG = ModelConfig(model="openai/m", identity="openai|https://x", temperature=0.7, seed=10)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{{input}}", "hello {{task}}"),
        ("{{ task }}-{{id}}", "greet-a"),
        ("{{n}} {{deep.er}} {{deep}}", '3 ["x"] {"er":["x"]}'),
        ("{{{task}}}", "{greet}"),
        ("no places { task } {} {{}}", "no places { task } {} {{}}"),
        ("{{task}}{{task}}", "greetgreet"),
    ],
)
def test_a_template_is_filled_in_one_pass(template: str, filled: str) -> None:
    assert fill(template, CASE) == filled


@pytest.mark.parametrize("name", ["reference", "unknown", "deep.other", "n.x", "metadata", "checks"])
def test_a_field_that_the_case_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="'a' does not have"):
        fill(f"{{{{{name}}}}}", CASE)


def test_sample_k_uses_seed_plus_k() -> None:
    asker = Asker(CONFIG, "m", "Be kind.\r\n", None)

    assert [asker.request(CASE, sample).seed for sample in range(3)] == [10, 11, 12]
    assert asker.request(CASE, 0).messages == (Message("system", "Be kind.\r\n"), Message("user", "hello {{task}}"))


CHANGES: list[dict[str, Any]] = [
    {"model": "other"},
    {"messages": (Message("user", "other"),)},
    {"messages": (Message("system", "hello"),)},
    {"temperature": 0.1},
    {"temperature": None},
    {"max_tokens": 5},
    {"seed": 1},
    {"sample": 1},
    {"attempt": 1},
    {"tools": ({"name": "f"},)},
    {"response_schema": {"type": "object"}},
    {"options": {"a": 1}},
]
PLAIN: dict[str, Any] = {"model": "m", "messages": (Message("user", "hello"),), "temperature": 0.0}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_every_part_of_a_question_is_part_of_its_name(change: dict[str, Any]) -> None:
    name = unit_name("generation", "openai|https://x", Request(**PLAIN))

    assert unit_name("generation", "openai|https://x", Request(**PLAIN | change)) != name


def test_a_name_depends_on_who_is_asked_and_not_on_the_case() -> None:
    name = unit_name("generation", "openai|https://x", Request(**PLAIN))

    assert unit_name("generation", "openai|https://y", Request(**PLAIN)) != name
    assert unit_name("judgement", "openai|https://x", Request(**PLAIN)) != name
    assert unit_name("generation", "openai|https://x", Request(**PLAIN, case=CASE)) == name
