from __future__ import annotations

from typing import Any

import pytest
from applied import plan, uses_of
from entries import each
from scoring import answer, case, metric, value
from scripted_judge import CASE, ScriptedJudge, said

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.metrics.catalogue import METRICS, build_metric
from prompt_evaluator.metrics.options import ExpectedTool, expected_tools_of
from prompt_evaluator.model import MetricUse, Scored, Skipped

JUDGED_MODULES = {"geval", "decomposition"}
RULES = [name for name in METRICS.names() if METRICS.get(name).__module__.split(".")[-1] not in JUDGED_MODULES]
JUDGED = [name for name in METRICS.names() if name not in RULES]
NEED_NOTHING = {"is_json", "contains_json", "finish_reason"}


def use(name: str, **options: Any) -> MetricUse:
    return MetricUse(metric=name, options=options)


@each(
    ("name", "options", "part"),
    [
        ("includes", {"phrasse": ["x"]}, "The metric 'includes' has no option 'phrasse'. Did you mean 'phrases'?"),
        ("includes", {"phrase": ["x"]}, "has no option 'phrase'. Did you mean 'phrases'?"),
        ("includes", {"phrases": 3}, "'phrases'"),
        ("latency", {"zzz": 1}, "The metric 'latency' has no option 'zzz'. Known options: threshold, max_ms."),
        ("length", {"max_words": "ten"}, "The option 'max_words' of the metric 'length' has to be a whole number"),
        ("includes", {"phrases": ["a", ""]}, "a phrase is empty"),
        ("regex", {"pattern": "("}, "is not a valid regular expression"),
        ("regex", {"pattern": "a", "flags": "q"}, "unknown flag 'q'"),
        ("json_schema", {"schema": {"type": "nope"}}, "the schema is not valid"),
        ("contains_json", {"schema": {"type": "nope"}}, "the schema is not valid"),
        ("json_schema", {"schema": {"$ref": "https://example.com/a.json"}}, "nothing is fetched"),
        ("json_path", {"path": "$.a["}, "is invalid from '['"),
        ("json_path", {"path": "$", "exists": False, "equals": 1}, "cannot be combined with"),
        ("numeric", {"abs_tolerance": -1}, "from 0 to 1e+300, not the number -1"),
        ("similarity", {"scorer": "partial_ratio"}, "partial_ratio"),
        ("levenshtein", {"max_distance": -1}, "'max_distance'"),
        ("finish_reason", {"allowed": []}, "`allowed` is empty"),
        ("criteria", {"criteria": " "}, "'criteria'"),
        ("correctness", {"samples": 0}, "'samples'"),
        ("correctness", {"steps": [" "]}, "'correctness'"),
        ("faithfulness", {"truths_limit": 0}, "'truths_limit'"),
        ("tool_correctness", {"mode": "sorted"}, "sorted"),
        ("tool_correctness", {"expected_tools": [{"args": {}}]}, "name"),
        ("tool_correctness", {"expected_tools": [{"name": "a", "args": {"x": {"$contain": 1}}}]}, "'$contains'"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_do(name: str, options: dict[str, Any], part: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_metric(use(name, **options))

    assert part in str(caught.value)


@pytest.mark.parametrize("options", [{"phrase": ["x"]}, {"phrases": 3}], ids=["unknown", "wrong"])
def test_a_wrong_option_of_a_case_is_found_before_anything_is_asked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="phrases"):
        uses_of(plan()).of(case(None, use("includes", **options)))


def test_a_mistyped_metric_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'includes'"):
        build_metric(use("inclued"))


@each("name", RULES)
async def test_every_rule_can_be_made_from_its_name_and_skips_or_scores_an_empty_case(name: str) -> None:
    rule = metric(name)

    found = await rule.score(case(), answer("", finish_reason="stop"), None)

    assert rule.name == name
    assert not rule.needs_judge
    assert await rule.prepared(None) is rule
    assert isinstance(found, Scored if name in NEED_NOTHING else Skipped)


@each("name", RULES)
async def test_what_a_case_lacks_is_known_before_there_is_an_answer(name: str) -> None:
    rule = metric(name)

    missing = rule.missing(case())

    assert (missing is None) == (name in NEED_NOTHING)
    if missing is not None:
        assert await rule.score(case(), answer("x", cost=1.0), None) == Skipped(missing)


@each("name", JUDGED)
async def test_what_a_case_lacks_is_known_before_a_judge_is_asked(name: str) -> None:
    judged, judge = metric(name), ScriptedJudge()

    missing = judged.missing(case())

    assert (missing is None) == (name == "answer_relevancy")
    if missing is not None:
        assert await judged.score(case(), said("x"), judge) == Skipped(missing)
    assert judge.asked == []


@each("name", JUDGED)
def test_a_case_that_has_all_lacks_nothing(name: str) -> None:
    options = {"criteria": "Is it kind?"} if name == "criteria" else {}

    assert metric(name, **options).missing(CASE) is None


@each("name", RULES)
def test_a_definition_makes_the_same_metric_again(name: str) -> None:
    definition = metric(name).definition()
    options = {option: given for option, given in definition.items() if option != "metric"}

    assert definition["metric"] == name
    assert metric(name, **options).definition() == definition


@each("name", METRICS.names())
def test_a_threshold_is_in_no_definition(name: str) -> None:
    strict = metric(name, threshold=0.9)

    assert strict.threshold == 0.9
    assert strict.definition() == metric(name, threshold=0.1).definition()
    assert "threshold" not in strict.definition()


def test_a_definition_is_made_of_what_json_can_hold() -> None:
    made = metric("tool_correctness", expected_tools=["a", {"name": "b", "args": {"x": [1]}}])

    assert made.definition() == {
        "metric": "tool_correctness",
        "expected_tools": ["a", {"name": "b", "args": {"x": [1]}}],
        "mode": "ordered",
        "use_judge": False,
    }


# Which model judges


@pytest.mark.parametrize("name", ["includes", "exact_match", "python:metric_functions:sync"])
def test_a_judge_for_a_metric_that_uses_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"does not use a judge\. Remove `judge`"):
        build_metric(MetricUse(metric=name, judge="openai/gpt-4o"))


def test_a_judge_for_tool_calls_is_asked_without_a_further_option() -> None:
    assert build_metric(MetricUse(metric="tool_correctness", judge="openai/gpt-4o")).needs_judge


# What a case says about itself


async def test_a_use_is_made_with_the_options_that_it_names() -> None:
    assert await value("includes", "tea", phrases=["tea"]) == 1
    assert await value("includes", "Tea", phrases=["tea"], case_sensitive=True) == 0


@each(
    ("context", "expected"),
    [
        (["a", "b"], ("a", "b")),
        ("a", ("a",)),
        ("  ", ()),
        ([], ()),
        (["a", 1], ()),
        ({"a": 1}, ()),
        (None, ()),
    ],
)
def test_context_is_read_where_it_has_the_right_shape(context: Any, expected: tuple[str, ...]) -> None:
    assert case(context=context).passages == expected


def test_expected_tools_are_read_from_a_check_or_a_field() -> None:
    check = use("tool_correctness", expected_tools=[{"name": "a", "args": {"x": 1}}])
    nothing = use("tool_correctness", expected_tools=[])

    assert expected_tools_of(case(None, check, expected_tools=["b"])) == (ExpectedTool("a", {"x": 1}),)
    assert expected_tools_of(case(expected_tools=["b", {"name": "c"}])) == (ExpectedTool("b"), ExpectedTool("c"))
    assert expected_tools_of(case(None, nothing)) == ()
    assert expected_tools_of(case(expected_tools={"a": 1})) is None
    assert expected_tools_of(case(expected_tools=[])) is None
    assert expected_tools_of(case()) is None
