from __future__ import annotations

import json
from typing import Any

import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st
from scoring import score, value

from prompt_evaluator.metrics.json_path import parse_path, select
from prompt_evaluator.model import Failed, Scored, Skipped

FENCED = 'Here:\n```json\n{"a": 1}\n```\nDone.'
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@each(
    ("text", "fences", "expected"),
    [
        ('{"a": 1}', False, 1.0),
        (" [1, 2]\n", False, 1.0),
        ("3", False, 1.0),
        ('"text"', False, 1.0),
        ("", False, 0.0),
        ("  ", True, 0.0),
        ("{'a': 1}", False, 0.0),
        ('{"a": 1,}', False, 0.0),
        ('{"a": NaN}', False, 0.0),
        ('{"a": 1} and more', False, 0.0),
        ('{"a": ', False, 0.0),
        (FENCED, False, 0.0),
        (FENCED, True, 1.0),
        ('{"a": 1}', True, 1.0),
        ("```\n[1]\n```", True, 1.0),
        ("~~~json\n[1]\n~~~", True, 1.0),
        ("```json\n```", True, 0.0),
        ("```json\n[1]", True, 0.0),
        ("```\nno\n```", True, 0.0),
        ("[" * 200_000, False, 0.0),
        ("\ud800", False, 0.0),
    ],
)
async def test_json_is_told_apart_from_other_text(text: str, fences: bool, expected: float) -> None:  # noqa: FBT001
    assert await value("is_json", text, fences=fences) == expected


async def test_an_unwanted_fence_is_named() -> None:
    found = await score("is_json", FENCED)

    assert found == Scored(0.0, "it has a Markdown fence; set `fences: true` to look inside")


SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0}, "tags": {"items": {"$ref": "#/$defs/tag"}}},
    "required": ["age"],
    "$defs": {"tag": {"type": "string"}},
}


@each(
    ("text", "expected", "reason"),
    [
        ('{"age": 3, "tags": ["a"]}', 1.0, ""),
        ('{"age": 3.0}', 1.0, ""),
        ('{"age": -1}', 0.0, "$.age: "),
        ('{"age": 3, "tags": ["a", 4]}', 0.0, "$.tags[1]: "),
        ("{}", 0.0, '$: "age" is a required property'),
        ("nope", 0.0, "not JSON"),
    ],
)
async def test_a_schema_says_where_the_answer_breaks_it(text: str, expected: float, reason: str) -> None:
    found = await score("json_schema", text, schema=SCHEMA)

    assert isinstance(found, Scored)
    assert found.value == expected
    assert found.reason.startswith(reason)


async def test_schemas_of_other_drafts_and_shapes_are_understood() -> None:
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"n": {"type": "null"}},
        "$ref": "#/definitions/n",
    }

    assert await value("json_schema", "null", schema=old) == 1
    assert await value("json_schema", "3", schema=True) == 1
    assert await value("json_schema", "3", schema=False) == 0
    assert await score("json_schema", "3") == Skipped("the case gives no schema")


async def test_many_problems_are_counted_and_the_first_are_listed() -> None:
    found = await score("json_schema", json.dumps(["a"] * 20), schema={"items": {"type": "integer"}})

    assert isinstance(found, Scored)
    assert found.reason.endswith("; and 15 more")
    assert found.details == {"problems": 20}


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
async def test_a_pattern_in_a_schema_cannot_run_for_ever(keyword: str) -> None:
    hard, text = r"^(a|a)*\1$", "a" * 60 + "b"
    schema: dict[str, Any] = {"pattern": hard} if keyword == "pattern" else {"patternProperties": {hard: False}}

    found = await score("json_schema", json.dumps(text if keyword == "pattern" else {text: 1}), schema=schema)

    assert isinstance(found, Scored | Failed)


DATA = {"a": {"b": [{"id": 1, "x y": "tea"}, {"id": 2}]}, "none": None, "yes": True, "it's": 5, "pi": 3.14159}


@each(
    ("path", "expected"),
    [
        ("$", [DATA]),
        ("$.a.b[0].id", [1]),
        ("a.b[0].id", [1]),
        ("$.a.b[-1].id", [2]),
        ("$.a.b[-3]", []),
        ("$.a.b[2]", []),
        ("$.a.b[*].id", [1, 2]),
        ("$['a'][\"b\"][0]['x y']", ["tea"]),
        ("$['it\\'s']", [5]),
        ("$.a.*[0].id", [1]),
        ("$.none", [None]),
        ("$.none.x", []),
        ("$.a[0]", []),
        ("$.a.b.id", []),
        ("$.yes[*]", []),
    ],
)
def test_a_path_leads_to_values(path: str, expected: list[Any]) -> None:
    assert select(parse_path(path), DATA) == expected


@each("path", ["$.", "$..a", "$[", "$[?(@.a)]", "$[1:2]", "$ .a b", "$['a]", "$[]", ""])
def test_an_invalid_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is invalid from"):
        parse_path(path)


@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1))
def test_every_key_can_be_written_in_brackets(data: dict[str, Any]) -> None:
    for key, wanted in data.items():
        escaped = key.replace("\\", "\\\\").replace("'", "\\'")

        assert select(parse_path(f"$['{escaped}']"), data) == [wanted]


@each(
    ("options", "expected"),
    [
        ({"path": "$.a"}, 1.0),
        ({"path": "$.zzz"}, 0.0),
        ({"path": "$.zzz", "exists": False}, 1.0),
        ({"path": "$.a", "exists": False}, 0.0),
        ({"path": "$.none", "equals": None}, 1.0),
        ({"path": "$.zzz", "equals": None}, 0.0),
        ({"path": "$.yes", "equals": 1}, 0.0),
        ({"path": "$.a.b[0].id", "equals": 1.0}, 1.0),
        ({"path": "$.a.b[0]", "equals": {"x y": "tea", "id": 1}}, 1.0),
        ({"path": "$.pi", "equals": {"$approx": 3.14, "$tolerance": 0.01}}, 1.0),
        ({"path": "$.a.b[*].id", "equals": 2}, 1.0),
        ({"path": "$.a.b[*].id", "equals": 2, "every": True}, 0.0),
        ({"path": "$.a.b[0]['x y']", "contains": "ea"}, 1.0),
        ({"path": "$.a.b[0]['x y']", "contains": "EA"}, 0.0),
        ({"path": "$.a.b", "contains": {"id": 2}}, 1.0),
        ({"path": "$.a", "contains": "b"}, 1.0),
        ({"path": "$.pi", "contains": 3}, 0.0),
    ],
)
async def test_values_at_a_path_are_compared(options: dict[str, Any], expected: float) -> None:
    assert await value("json_path", json.dumps(DATA), **options) == expected


async def test_the_reason_shows_what_is_there_instead() -> None:
    found = await score("json_path", '{"a": 2}', path="$.a", equals=3)

    assert found == Scored(0.0, "$.a is 2, expected 3")


CONTAINED: list[tuple[str, float]] = [
    ('Here you are: {"a": 1}. Bye!', 1.0),
    (FENCED, 1.0),
    ("```\n[1, 2]\n```", 1.0),
    ("The list is [1, 2].", 1.0),
    ('{name} is {"a": 1}', 1.0),
    ('{"broken": {"a": 1}', 1.0),
    ("nothing here", 0.0),
    ("", 0.0),
    ("3", 0.0),
    ("{'a': 1}", 0.0),
    ('{"a": ', 0.0),
    ('{"a": NaN}', 0.0),
    ("[Infinity]", 0.0),
    (f"[{'9' * 5_000}]", 0.0),
]


@each(("text", "expected"), CONTAINED)
async def test_json_is_found_in_the_text_around_it(text: str, expected: float) -> None:
    assert await value("contains_json", text) == expected


async def test_an_answer_without_json_says_so() -> None:
    assert await score("contains_json", "no") == Scored(0.0, "the answer contains no JSON object or array")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('First {"age": "x"}, then {"age": 3}.', Scored(1.0)),
        ('```json\n{"age": 3}\n```', Scored(1.0)),
        ('Only {"age": -1}.', Scored(0.0, "$.age: -1 is less than the minimum of 0", {"problems": 1})),
        ("Only prose.", Scored(0.0, "the answer contains no JSON object or array")),
    ],
)
async def test_one_of_the_json_values_has_to_follow_the_schema(text: str, expected: Scored) -> None:
    assert await score("contains_json", text, schema=SCHEMA) == expected


@each("piece", ["[", "{", '{"a":', "[1,", '["', "[ \n", "{}[", "]}"])
async def test_a_hundred_thousand_brackets_are_looked_at_in_time(piece: str) -> None:
    found = await score("contains_json", piece * 100_000, schema={"required": ["a"]})

    assert isinstance(found, Scored)
    assert found.value == 0
