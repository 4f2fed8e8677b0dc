"""`checks:` asks for metrics: for one case, or for all of a file. What is not shaped like that is metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml

from prompt_evaluator.app.models import Models
from prompt_evaluator.app.plans import prepare
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import MetricUse, TestCase
from prompt_evaluator.model.options import EvaluateOptions

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

JSON = MetricUse(metric="is_json")
SHORT = MetricUse(metric="length", options={"max_words": 3})
CHECKS = [{"metric": "is_json"}, {"metric": "length", "max_words": 3}]
GUIDE_CASE: dict[str, Any] = {"id": "a", "input": "x"}
TASK: dict[str, Any] = {"id": "a", "name": "A", "input": "x", "expected_output": "y"}


def read(write: Write, name: str, content: Any) -> list[TestCase]:
    text = yaml.safe_dump(content) if name.endswith("yaml") else json.dumps(content)
    return list(open_dataset(write(name, text)).cases)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.jsonl", {**GUIDE_CASE, "checks": CHECKS}),
        ("d.yaml", [{**GUIDE_CASE, "checks": CHECKS}]),
        ("d.json", [{**GUIDE_CASE, "checks": CHECKS}]),
        ("b.yaml", {"tasks": [{**TASK, "checks": CHECKS}]}),
        ("b.json", {"tasks": [{**TASK, "checks": CHECKS}]}),
    ],
    ids=["jsonl", "yaml", "json", "benchmark yaml", "benchmark json"],
)
def test_a_case_asks_for_metrics(write: Write, name: str, content: Any) -> None:
    (case,) = read(write, name, content)

    assert case.checks == (JSON, SHORT)
    assert "checks" not in case.metadata


def test_a_file_asks_for_metrics_for_all_its_cases_after_their_own(write: Write) -> None:
    other = {**TASK, "id": "b", "checks": [{"metric": "is_json"}]}

    first, second = read(write, "b.yaml", {"checks": [CHECKS[1]], "tasks": [TASK, other]})

    assert first.checks == (SHORT,)
    assert second.checks == (JSON, SHORT)


def test_what_a_benchmark_expects_of_tools_comes_first(write: Write) -> None:
    (case,) = read(write, "b.yaml", {"tasks": [{**TASK, "expected_tools": [{"name": "f"}], "checks": CHECKS}]})

    assert case.checks == (
        MetricUse(metric="tool_correctness", options={"expected_tools": [{"name": "f"}]}),
        JSON,
        SHORT,
    )


WRONG: list[Any] = [
    *("is_json", {"metric": "is_json"}, ["is_json"], [{"name": "is_json"}], [{"metric": 3}], [{"metric": ""}]),
    *([{"metric": "is_json"}, "length"], [None], 7, True),
]


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("name", ["d.jsonl", "d.yaml", "b.yaml"])
def test_another_shape_is_a_field_like_any_other(write: Write, name: str, value: Any) -> None:
    record = {**(TASK if name == "b.yaml" else GUIDE_CASE), "checks": value}
    content = {"d.jsonl": record, "d.yaml": [record], "b.yaml": {"tasks": [record]}}[name]

    (case,) = read(write, name, content)

    assert case.checks == ()
    assert case.metadata["checks"] == value


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_another_shape_at_the_root_asks_for_nothing(write: Write, value: Any) -> None:
    (case,) = read(write, "b.yaml", {"tasks": [TASK], "checks": value})

    assert case.checks == ()


def test_an_empty_list_asks_for_nothing_and_leaves_no_trace(write: Write) -> None:
    (case,) = read(write, "d.yaml", [{**GUIDE_CASE, "checks": []}])

    assert case == TestCase(id="a", input="x")


def test_two_cases_that_share_a_list_both_ask(write: Write) -> None:
    text = "- {id: a, input: x, checks: &c [{metric: is_json}]}\n- {id: b, input: x, checks: *c}\n"

    cases = open_dataset(write("d.yaml", text)).cases

    assert [case.checks for case in cases] == [(JSON,), (JSON,)]


def test_checks_are_counted_among_the_fields(write: Write) -> None:
    path = write("d.jsonl", json.dumps({**GUIDE_CASE, "checks": CHECKS}))

    assert survey(path).fields["checks"] == 1


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ({"metric": "is_jsn"}, "There is no metric 'is_jsn'. Did you mean 'is_json'?"),
        (
            {"metric": "length", "max_wrds": 3},
            "The metric 'length' has no option 'max_wrds'. Did you mean 'max_words'?",
        ),
        ({"metric": "length", "max_words": "three"}, "The option 'max_words' of the metric 'length' cannot be used"),
        ({"metric": "regex", "pattern": "("}, "The metric 'regex' cannot be used"),
        ({"metric": "python:nowhere:function"}, "the module `nowhere` cannot be imported"),
    ],
    ids=["name", "option", "value", "pattern", "function"],
)
def test_a_check_that_cannot_be_used_is_refused_and_its_case_named(
    write: Write, check: dict[str, Any], sentence: str
) -> None:
    cases = [{"id": "fine", "input": "x"}, {"id": "odd one", "input": "x", "checks": [check]}]
    options = EvaluateOptions(dataset=write("d.yaml", yaml.safe_dump(cases)))

    with pytest.raises(ConfigurationError) as caught:
        prepare(options, Models())

    assert str(caught.value).startswith("The case 'odd one' has a check that cannot be used: ")
    assert sentence in str(caught.value)


def test_a_check_of_a_case_that_is_not_selected_is_nobodys_business(write: Write) -> None:
    cases = [{"id": "fine", "input": "x"}, {"id": "odd", "input": "x", "checks": [{"metric": "nothing"}]}]
    options = EvaluateOptions(dataset=write("d.yaml", yaml.safe_dump(cases)), case_ids=("fine",))

    assert prepare(options, Models()).plan.dataset.selected == 1


def test_a_bar_may_be_set_for_a_metric_that_only_cases_ask_for(write: Write) -> None:
    path = write("d.yaml", yaml.safe_dump([{**GUIDE_CASE, "checks": CHECKS}]))
    options = EvaluateOptions(dataset=path, fail_under={"length": 0.5})

    assert prepare(options, Models()).plan.fail_under == {"length": 0.5}
    with pytest.raises(ConfigurationError, match="Did you mean 'length'"):
        prepare(msgspec.structs.replace(options, fail_under={"lenght": 0.5}), Models())
