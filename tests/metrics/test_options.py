from __future__ import annotations

from typing import Any

import pytest
from scoring import answer, case, score, value

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.metrics.catalogue import METRICS, build_metric
from prompt_evaluator.metrics.options import ExpectedTool, context_of, expected_tools_of
from prompt_evaluator.model import Failed, MetricUse, Scored, Skipped

RULES = [
    name for name in METRICS.names() if METRICS.get(name).__module__.split(".")[-1] not in {"geval", "decomposition"}
]


async def test_a_metric_of_the_run_takes_the_options_of_the_case() -> None:
    on = case(None, MetricUse(metric="includes", options={"phrases": ["tea"]}))

    assert await value("includes", "tea", on=on) == 1
    assert await value("includes", "Tea", on=on, case_sensitive=True) == 0
    assert await value("includes", "tea", on=on, phrases=["coffee"]) == 1


async def test_an_alias_brings_what_it_means() -> None:
    strict = case(None, MetricUse(metric="contains", options={"text": "tea"}))
    kind = case(None, MetricUse(metric="icontains", options={"text": "tea"}))

    assert await value("includes", "TEA", on=strict) == 0
    assert await value("includes", "TEA", on=kind, case_sensitive=True) == 1
    assert await value("contains", "TEA", on=kind) == 1
    assert await value("contains", "TEA", on=strict, case_sensitive=False) == 1


async def test_checks_of_its_own_name_come_before_those_of_an_alias() -> None:
    on = case(
        None,
        MetricUse(metric="includes", options={"phrases": ["a"]}),
        MetricUse(metric="contains", options={"text": "b"}),
    )

    assert await value("includes", "a", on=on) == 1
    assert await value("contains", "b", on=on) == 1


async def test_the_worst_of_several_checks_counts() -> None:
    on = case(
        None,
        MetricUse(metric="regex", options={"pattern": "tea"}),
        MetricUse(metric="regex", options={"pattern": "coffee"}),
        MetricUse(metric="length", options={"max_words": 1}),
    )

    found = await score("regex", "tea", on=on)

    assert found == Scored(0.0, "no match for 'coffee'", {"checks": 2})
    assert await value("regex", "tea, coffee", on=on) == 1


async def test_a_failure_counts_before_any_score() -> None:
    good, bad = (MetricUse(metric="regex", options={"pattern": pattern}) for pattern in ("a", "("))

    assert isinstance(await score("regex", "a", on=case(None, good, bad)), Failed)


@pytest.mark.parametrize(
    ("options", "part"),
    [({"phrase": ["x"]}, "has no option 'phrase'. Did you mean 'phrases'?"), ({"phrases": 3}, "'phrases'")],
)
async def test_a_wrong_option_of_a_case_is_a_failure_that_names_it(options: dict[str, Any], part: str) -> None:
    found = await score("includes", "x", on=case(None, MetricUse(metric="includes", options=options)))

    assert isinstance(found, Failed)
    assert part in found.reason
    assert found.kind == "ConfigurationError"


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        (
            {"metric": "includes", "phrasse": ["x"]},
            "The metric 'includes' has no option 'phrasse'. Did you mean 'phrases'?",
        ),
        ({"metric": "latency", "zzz": 1}, "The metric 'latency' has no option 'zzz'. It has: threshold, max_ms."),
        (
            {"metric": "length", "max_words": "ten"},
            "The option 'max_words' of the metric 'length' cannot be used: expected",
        ),
        ({"metric": "includes", "phrases": ["a", ""]}, "a phrase is empty"),
        ({"metric": "regex", "pattern": "("}, "no regular expression"),
        ({"metric": "regex", "pattern": "a", "flags": "q"}, "no flag 'q'"),
        ({"metric": "json_schema", "schema": {"type": "nope"}}, "The schema is not valid".lower()),
        ({"metric": "json_schema", "schema": {"$ref": "https://example.com/a.json"}}, "nothing is fetched"),
        ({"metric": "json_path", "path": "$.a["}, "is not understood from '['"),
        ({"metric": "json_path", "path": "$", "exists": False, "equals": 1}, "cannot equal or contain"),
        ({"metric": "numeric", "abs_tolerance": -1}, "not below 0"),
        ({"metric": "similarity", "scorer": "partial_ratio"}, "partial_ratio"),
        ({"metric": "tool_correctness", "mode": "sorted"}, "sorted"),
        ({"metric": "tool_correctness", "expected_tools": [{"args": {}}]}, "name"),
        (
            {"metric": "tool_correctness", "expected_tools": [{"name": "a", "args": {"x": {"$contain": 1}}}]},
            "'$contains'",
        ),
        ({"phrases": []}, "A metric is a name or a mapping"),
        ({"metric": 3}, "A metric is a name or a mapping"),
    ],
)
def test_a_wrong_specification_is_refused_with_what_to_do(spec: dict[str, Any], part: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_metric(spec)

    assert part in str(caught.value).replace("The schema", "the schema") or part in str(caught.value)


def test_a_mistyped_metric_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'includes'"):
        build_metric("inclued")


@pytest.mark.parametrize("name", RULES)
async def test_every_rule_can_be_made_from_its_name_and_skips_or_scores_an_empty_case(name: str) -> None:
    metric = build_metric(name)

    found = await metric.score(case(), answer(), None)

    assert metric.name == name
    assert not metric.needs_judge
    assert await metric.prepared(None) is metric
    assert isinstance(found, Scored if name == "is_json" else Skipped)


@pytest.mark.parametrize("name", RULES)
def test_a_definition_makes_the_same_metric_again(name: str) -> None:
    definition = build_metric(name).definition()

    assert definition["metric"] == name
    assert build_metric(definition).definition() == definition


def test_a_definition_is_made_of_what_json_can_hold() -> None:
    spec = {"metric": "tool_correctness", "expected_tools": ["a", {"name": "b", "args": {"x": [1]}}]}

    assert build_metric(spec).definition() == {
        "metric": "tool_correctness",
        "threshold": 1.0,
        "expected_tools": ["a", {"name": "b", "args": {"x": [1]}}],
        "mode": "ordered",
        "use_judge": False,
    }


async def test_a_field_called_checks_in_the_metadata_asks_for_nothing() -> None:
    assert isinstance(await score("regex", "x", on=case(checks=[{"metric": "regex", "pattern": "y"}])), Skipped)


@pytest.mark.parametrize(
    ("context", "expected"),
    [(["a", "b"], ("a", "b")), ("a", ("a",)), ("  ", ()), ([], ()), (["a", 1], ()), ({"a": 1}, ()), (None, ())],
)
def test_context_is_read_where_it_has_the_right_shape(context: Any, expected: tuple[str, ...]) -> None:
    assert context_of(case(context=context)) == expected


def test_expected_tools_are_read_from_a_check_or_a_field() -> None:
    check = MetricUse(metric="tool_correctness", options={"expected_tools": [{"name": "a", "args": {"x": 1}}]})
    nothing = MetricUse(metric="tool_correctness", options={"expected_tools": []})

    assert expected_tools_of(case(None, check, expected_tools=["b"])) == (ExpectedTool("a", {"x": 1}),)
    assert expected_tools_of(case(expected_tools=["b", {"name": "c"}])) == (ExpectedTool("b"), ExpectedTool("c"))
    assert expected_tools_of(case(None, nothing)) == ()
    assert expected_tools_of(case(expected_tools={"a": 1})) is None
    assert expected_tools_of(case(expected_tools=[])) is None
    assert expected_tools_of(case()) is None
