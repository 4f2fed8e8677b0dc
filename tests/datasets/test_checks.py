"""`checks:` asks for metrics: for one case, or for all of a file. What is not shaped like that is metadata."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml
from entries import each
from placeless import placeless

from prompt_evaluator.app.models import Models
from prompt_evaluator.app.planning.plans import prepare
from prompt_evaluator.app.validate import validate
from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import ConfigurationError, InputError
from prompt_evaluator.model import MetricUse, TestCase
from prompt_evaluator.model.options import EvaluateOptions

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

JSON = MetricUse(metric="is_json")
SHORT = MetricUse(metric="length", options={"max_words": 3})
CHECKS = [{"metric": "is_json"}, {"metric": "length", "max_words": 3}]
GUIDE_CASE: dict[str, Any] = {"id": "a", "input": "x"}
TASK: dict[str, Any] = {"id": "a", "name": "A", "input": "x", "expected_output": "y"}
HARNESS_TASK: dict[str, Any] = {"id": "a", "prompt": "x"}


def in_file(name: str, **fields: Any) -> Any:
    """The whole content of a file with one case that has more fields."""
    return {
        "d.jsonl": {**GUIDE_CASE, **fields},
        "d.yaml": [{**GUIDE_CASE, **fields}],
        "b.yaml": {"tasks": [{**TASK, **fields}]},
        "h.json": [{**HARNESS_TASK, **fields}],
    }[name]


def written(name: str, content: Any) -> str:
    return yaml.safe_dump(content) if name.endswith("yaml") else json.dumps(content)


def read(write: Write, name: str, content: Any) -> list[TestCase]:
    return list(open_dataset(write(name, written(name, content))).cases)


@each(
    "written",
    [
        "is_json",
        {"metric": "is_json"},
        {"is_json": None},
        ["is_json"],
        [{"is_json": {}}],
        "is_json()",
    ],
    ids=repr,
)
@each("name", ["d.jsonl", "d.yaml", "b.yaml", "h.json"])
def test_checks_may_be_written_in_every_form_in_every_dialect(write: Write, name: str, written: Any) -> None:
    (case,) = read(write, name, in_file(name, checks=written))

    assert case.checks == (JSON,)
    assert "checks" not in case.metadata


def test_name_judge_and_negation_belong_to_the_use(write: Write) -> None:
    text = "- {id: a, input: x, checks: [{regex: {pattern: y, name: greeting, judge: a/b, not: true}}]}"

    (case,) = open_dataset(write("d.yaml", text)).cases

    assert case.checks == (
        MetricUse(metric="regex", name="greeting", judge="a/b", negated=True, options={"pattern": "y"}),
    )


# What a whole file asks for


def test_a_file_asks_for_metrics_for_all_its_cases_before_their_own(write: Write) -> None:
    other = {**TASK, "id": "b", "checks": [{"metric": "is_json"}]}

    first, second = read(write, "b.yaml", {"checks": [CHECKS[1]], "tasks": [TASK, other]})

    assert first.checks == (SHORT,)
    assert second.checks == (SHORT, JSON)


def test_a_case_has_the_last_word_on_the_options_of_a_use_of_the_file(write: Write) -> None:
    checks = {"length": {"max_words": 9, "min_words": 2}}
    task = {**TASK, "checks": {"length": {"max_words": 5}}}

    (case,) = read(write, "b.yaml", {"checks": checks, "tasks": [task]})

    assert case.checks == (MetricUse(metric="length", options={"max_words": 5, "min_words": 2}),)


def test_what_a_task_expects_of_tools_is_more_specific_than_what_the_file_asks(write: Write) -> None:
    task = {**TASK, "expected_tools": [{"name": "f"}]}

    (case,) = read(write, "b.yaml", {"checks": {"tool_correctness": {"mode": "exact"}}, "tasks": [task]})

    options = {"mode": "exact", "expected_tools": [{"name": "f"}]}
    assert case.checks == (MetricUse(metric="tool_correctness", options=options),)


CLASH = {"checks": {"metric": "length", "name": "x"}, "tasks": [{**TASK, "checks": {"metric": "is_json", "name": "x"}}]}


def test_one_name_for_a_metric_of_the_file_and_another_of_a_case_is_refused(write: Write) -> None:
    with pytest.raises(InputError, match="two metrics, 'length' and 'is_json', are called 'x'"):
        read(write, "b.yaml", CLASH)


def test_when_such_a_file_is_only_loaded_the_case_keeps_its_own(write: Write) -> None:
    (case,), _ = load_dataset(write("b.yaml", yaml.safe_dump(CLASH)))

    assert case.checks == (MetricUse(metric="is_json", name="x"),)


# What a dialect's own fields ask for


def test_what_a_benchmark_expects_of_tools_comes_first(write: Write) -> None:
    (case,) = read(write, "b.yaml", {"tasks": [{**TASK, "expected_tools": [{"name": "f"}], "checks": CHECKS}]})

    assert case.checks == (
        MetricUse(metric="tool_correctness", options={"expected_tools": [{"name": "f"}]}),
        JSON,
        SHORT,
    )


def test_the_authors_own_options_win_over_the_dialects(write: Write) -> None:
    checks = [{"metric": "includes", "case_sensitive": True}]

    (case,) = read(write, "h.json", [{**HARNESS_TASK, "mustInclude": ["a"], "checks": checks}])

    assert case.checks == (MetricUse(metric="includes", options={"phrases": ["a"], "case_sensitive": True}),)


def test_a_name_that_the_dialect_needs_for_another_metric_leaves_the_field_in_the_metadata(write: Write) -> None:
    checks = [{"metric": "length", "name": "tool_correctness"}]
    path = write("b.yaml", yaml.safe_dump({"tasks": [{**TASK, "expected_tools": [{"name": "f"}], "checks": checks}]}))

    (case,), _ = load_dataset(path)

    assert [use.metric for use in case.checks] == ["tool_correctness"]
    assert case.metadata["checks"] == checks
    assert [problem.field for problem in survey(path).problems] == ["checks"]


# What is not of the shape

OWN: list[Any] = [7, 1.5, True, None, "see below", "50%", "done (mostly)", ""]
WRONG: list[Any] = [
    *([{"name": "is_json"}], [{"metric": 3}], [{"metric": ""}], [{"metric": "is_json"}, 7], [None], ["is it kind"]),
    *({"is_json": None, "length": None}, {}, [["is_json"]], "regex(pattern=x", "regex(x)", ["regex", "regex"]),
    *([{"metric": "regex", "not": "yes"}], [{"metric": "regex", "name": ""}], [{"metric": "regex", "judge": 3}]),
]


@each("value", OWN + WRONG, ids=repr)
@each("name", ["d.jsonl", "d.yaml", "b.yaml"])
def test_loading_keeps_another_shape_as_the_authors_own_field(write: Write, name: str, value: Any) -> None:
    (case,), _ = load_dataset(write(name, written(name, in_file(name, checks=value))))

    assert case.checks == ()
    assert case.metadata["checks"] == value


@each("value", OWN, ids=repr)
@each("name", ["d.jsonl", "d.yaml", "b.yaml", "h.json"])
def test_a_plain_value_is_the_authors_own_for_commands_too(write: Write, name: str, value: Any) -> None:
    (case,) = read(write, name, in_file(name, checks=value))

    assert case.metadata["checks"] == value


@each("value", WRONG, ids=repr)
@each("name", ["d.jsonl", "d.yaml", "b.yaml", "h.json"])
def test_commands_refuse_what_looks_like_a_request_and_cannot_be_read(write: Write, name: str, value: Any) -> None:
    with pytest.raises(InputError, match="checks field validation failed") as caught:
        read(write, name, in_file(name, checks=value))

    assert caught.value.field == "checks"
    assert caught.value.line


def test_the_problem_is_at_the_line_of_the_field(write: Write) -> None:
    text = "- id: a\n  input: x\n  topic: t\n  checks:\n    - metric: is_json\n      not: yes please\n"

    (problem,) = survey(write("d.yaml", text)).problems

    assert str(problem).startswith(f"{problem.path}:4: ")
    assert str(problem).endswith(
        "checks field validation failed: item 0: `not` of 'is_json' is the text 'yes please': write true or false. "
        "Write a list of metrics: names, or mappings with `metric` and its options."
    )


def test_in_jsonl_it_is_the_line_of_the_case(write: Write) -> None:
    good, bad = json.dumps(GUIDE_CASE), json.dumps({"id": "b", "input": "x", "checks": [3]})

    found = survey(write("d.jsonl", f"{good}\n\n{bad}\n"))

    assert [(problem.line, problem.field) for problem in found.problems] == [(3, "checks")]
    assert found.count == 1


@each("value", OWN + WRONG, ids=repr)
def test_another_shape_at_the_root_asks_for_nothing_when_loading(write: Write, value: Any) -> None:
    (case,), _ = load_dataset(write("b.yaml", yaml.safe_dump({"tasks": [TASK], "checks": value})))

    assert case.checks == ()


def test_wrong_checks_of_a_file_are_reported_once_at_their_own_line(write: Write) -> None:
    text = "name: n\nchecks: [3]\ntasks:\n" + "".join(
        f"- {{id: {name}, name: n, input: x, expected_output: y}}\n" for name in "abc"
    )

    found = survey(write("b.yaml", text))

    assert [(problem.line, problem.field) for problem in found.problems] == [(2, "checks")]
    assert found.problems[0].what.startswith("Invalid checks of the dataset: item 0: it is the number 3")


def test_an_empty_list_asks_for_nothing_and_leaves_no_trace(write: Write) -> None:
    cases = read(write, "d.yaml", [{**GUIDE_CASE, "checks": []}])

    assert placeless(cases) == [TestCase(id="a", input="x")]


def test_two_cases_that_share_a_list_both_ask(write: Write) -> None:
    text = "- {id: a, input: x, checks: &c [{metric: is_json}]}\n- {id: b, input: x, checks: *c}\n"

    cases = open_dataset(write("d.yaml", text)).cases

    assert [case.checks for case in cases] == [(JSON,), (JSON,)]


def test_checks_inside_metadata_are_metadata(write: Write) -> None:
    (case,) = read(write, "d.yaml", [{**GUIDE_CASE, "metadata": {"checks": CHECKS}}])

    assert (case.checks, case.metadata) == ((), {"checks": CHECKS})


def test_checks_are_counted_among_the_fields(write: Write) -> None:
    path = write("d.jsonl", json.dumps({**GUIDE_CASE, "checks": CHECKS}))

    assert survey(path).fields["checks"] == 1


# What only a catalogue of metrics knows


def no_regex(case: TestCase) -> list[str]:
    """A catalogue in which nothing is called `regex`, and every length has to be limited."""
    sentences = {"regex": "There is no metric 'regex'.", "length": "Give max_words."}
    return [
        sentences[use.metric]
        for use in case.checks
        if use.metric == "regex" or (use.metric == "length" and "max_words" not in use.options)
    ]


@pytest.mark.parametrize(("name", "line"), [("d.yaml", 3), ("d.jsonl", 1)])
def test_an_inspection_finds_problems_at_the_line_of_the_field(write: Write, name: str, line: int) -> None:
    texts = {
        "d.yaml": "- id: a\n  input: x\n  checks: regex\n",
        "d.jsonl": '{"id": "a", "input": "x", "checks": "regex"}',
    }
    path = write(name, texts[name])

    (problem,) = survey(path, inspect=no_regex).problems

    assert (problem.line, problem.field) == (line, "checks")
    assert "checks field validation failed: There is no metric 'regex'." in str(problem)
    with pytest.raises(InputError, match="There is no metric 'regex'"):
        open_dataset(path, inspect=no_regex)


def test_a_case_without_checks_is_not_inspected(write: Write) -> None:
    found = survey(write("d.yaml", "- {id: a, input: x}\n"), inspect=lambda case: [f"{case.id} was looked at"])

    assert found.problems == []


@pytest.mark.parametrize("own", [{}, {"checks": "is_json"}, {"checks": {"regex": {"flags": "i"}}}], ids=repr)
def test_a_problem_of_the_files_checks_is_reported_once(write: Write, own: dict[str, Any]) -> None:
    tasks = [{**TASK, "id": name, **own} for name in "abc"]

    found = survey(write("b.yaml", yaml.safe_dump({"checks": ["regex"], "tasks": tasks})), inspect=no_regex)

    assert [problem.what for problem in found.problems] == ["Invalid checks of the dataset: There is no metric 'regex'"]
    assert found.problems[0].line == 1


def test_what_every_case_adds_to_a_use_of_the_file_is_not_missing_there(write: Write) -> None:
    task = {**TASK, "checks": {"length": {"max_words": 3}}}

    found = survey(write("b.yaml", yaml.safe_dump({"checks": ["length"], "tasks": [task]})), inspect=no_regex)

    assert found.problems == []


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ({"metric": "is_jsn"}, "There is no metric 'is_jsn'. Did you mean 'is_json'?"),
        (
            {"metric": "length", "max_wrds": 3},
            "The metric 'length' has no option 'max_wrds'. Did you mean 'max_words'?",
        ),
        ({"metric": "length", "max_words": "three"}, "The option 'max_words' of the metric 'length' has to be"),
        ({"metric": "regex", "pattern": "("}, "The metric 'regex' cannot be used"),
        ({"metric": "python:nowhere:function"}, "module `nowhere` not found"),
    ],
    ids=["name", "option", "value", "pattern", "function"],
)
def test_a_check_that_cannot_be_used_is_refused_at_its_line(write: Write, check: dict[str, Any], sentence: str) -> None:
    cases = [{"id": "fine", "input": "x"}, {"id": "odd one", "input": "x", "checks": [check]}]
    path = write("d.jsonl", "\n".join(map(json.dumps, cases)))

    with pytest.raises(InputError) as caught:
        prepare(EvaluateOptions(dataset=path), Models()).finish()

    assert str(caught.value).startswith(f"{path}: Invalid test case at line 2: checks field validation failed: ")
    assert sentence in str(caught.value)
    assert [str(problem) for found in validate([path]) for problem in found.problems] == [str(caught.value)]


def test_a_check_of_a_case_that_is_not_selected_is_refused_too(write: Write) -> None:
    cases = [{"id": "fine", "input": "x"}, {"id": "odd", "input": "x", "checks": [{"metric": "nothing"}]}]
    options = EvaluateOptions(dataset=write("d.yaml", yaml.safe_dump(cases)), case_ids=("fine",))

    with pytest.raises(InputError, match="There is no metric 'nothing'"):
        prepare(options, Models()).finish()


def test_a_bar_may_be_set_for_a_metric_that_only_cases_ask_for(write: Write) -> None:
    path = write("d.yaml", yaml.safe_dump([{**GUIDE_CASE, "checks": CHECKS}]))
    options = EvaluateOptions(dataset=path, fail_under={"length": 0.5})

    assert prepare(options, Models()).finish().fail_under == {"length": 0.5}
    with pytest.raises(ConfigurationError, match="Did you mean 'length'"):
        prepare(msgspec.structs.replace(options, fail_under={"lenght": 0.5}), Models()).finish()
