"""Every way of writing a use of a metric means the same, and a wrong one says what to write."""

from __future__ import annotations

from typing import Any

import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.model import MetricUse
from prompt_evaluator.syntax.metric_uses import is_meant_as_uses, parse_uses, parse_uses_text

JSON = MetricUse(metric="is_json")
SHORT = MetricUse(metric="length", options={"max_words": 50, "min_words": 3})
FULL = MetricUse(metric="tone", name="kind", judge="a/b", negated=True, options={"level": 2})


@each(
    ("value", "uses"),
    [
        ("is_json", (JSON,)),
        (" is_json ", (JSON,)),
        ({"metric": "is_json"}, (JSON,)),
        ({"is_json": None}, (JSON,)),
        ({"is_json": {}}, (JSON,)),
        ("length(max_words=50, min_words=3)", (SHORT,)),
        ({"metric": "length", "max_words": 50, "min_words": 3}, (SHORT,)),
        ({"length": {"max_words": 50, "min_words": 3}}, (SHORT,)),
        ({"metric": "length", "options": {"max_words": 50, "min_words": 3}}, (SHORT,)),
        ({"metric": "length", "max_words": 50, "options": {"min_words": 3}}, (SHORT,)),
        ({"metric": "tone", "name": "kind", "judge": "a/b", "not": True, "level": 2}, (FULL,)),
        ({"tone": {"name": "kind", "judge": "a/b", "not": True, "level": 2}}, (FULL,)),
        ("tone(name=kind, judge=a/b, not=true, level=2)", (FULL,)),
        ({"metric": "is_json", "name": None, "judge": None, "not": None, "options": None}, (JSON,)),
        ({"metric": "x", "options": {"name": "n"}}, (MetricUse(metric="x", options={"name": "n"}),)),
        (["is_json", {"length": {"max_words": 50, "min_words": 3}}], (JSON, SHORT)),
        ([], ()),
        ("python:checks:polite", (MetricUse(metric="python:checks:polite"),)),
        ("python:checks:polite(level=2)", (MetricUse(metric="python:checks:polite", options={"level": 2}),)),
        ("command:./score.sh --strict (a, b", (MetricUse(metric="command:./score.sh --strict (a, b"),)),
        ({"command:./score.sh x": {"name": "n"}}, (MetricUse(metric="command:./score.sh x", name="n"),)),
    ],
    ids=repr,
)
def test_a_use_can_be_written_as(value: Any, uses: tuple[MetricUse, ...]) -> None:
    assert parse_uses(value) == uses


@each(
    ("written", "value"),
    [
        ("50", 50),
        ("-1.5e3", -1500.0),
        ("0x1F", 31),
        ("0123", "0123"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("yes", "yes"),
        ("", ""),
        (" a b ", "a b"),
        ("^a", "^a"),
        ("a=b", "a=b"),
        ("^a(b|c)[,;]{1,2}$", "^a(b|c)[,;]{1,2}$"),
        ('"^a(b|c),?$"', "^a(b|c),?$"),
        ('"50"', "50"),
        (r'"a\"b\\d"', r'a"b\d'),
        (r"'^\d+, )$'", r"^\d+, )$"),
        ("'it''s'", "it's"),
        ("don't", "don't"),
        ('say "a, b" now', 'say "a, b" now'),
        ('["a, b", 2]', ["a, b", 2]),
        ('{"a": [1, null]}', {"a": [1, None]}),
        ("[a-z]+", "[a-z]+"),
        ("{x}", "{x}"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("9" * 5_000, "9" * 5_000),
    ],
    ids=lambda text: repr(text)[:30],
)
def test_a_value_in_brackets_is_read_as(written: str, value: Any) -> None:
    (use,) = parse_uses(f"x(v={written})")

    assert use.options["v"] == value
    assert type(use.options["v"]) is type(value)


def test_a_text_of_the_command_line_names_several() -> None:
    uses = parse_uses_text(
        'regex(pattern=^a(b|c)), length(max_words=50),python:checks:polite , "command:./s.sh --strict, please"'
    )

    assert [use.metric for use in uses] == [
        "regex",
        "length",
        "python:checks:polite",
        "command:./s.sh --strict, please",
    ]
    assert uses[0].options == {"pattern": "^a(b|c)"}


@each("text", ["'is_json'", '"is_json"', " is_json ", '"is_json()"'])
def test_quotes_and_spaces_around_a_use_do_not_count(text: str) -> None:
    assert parse_uses_text(text) == (JSON,)


WRONG: dict[str, tuple[Any, str]] = {
    "number": (3, "it is the number 3: write a metric's name, or a mapping"),
    "null": (None, "it is null: write"),
    "boolean": (True, "it is the boolean true: write"),
    "nested list": (["is_json", ["length"]], "item 1: it is a list: write"),
    "empty mapping": ({}, "a mapping with nothing in it does not say which metric: add `metric`"),
    "two names": ({"is_json": None, "length": None}, "a mapping with 'is_json', 'length' does not say which metric"),
    "only a name": ({"name": "x"}, "a mapping with 'name' does not say which metric"),
    "metric is a number": ({"metric": 3}, "a metric's name is the number 3: write a text"),
    "metric is empty": ({"metric": " "}, "a metric's name is empty: write a name such as is_json"),
    "empty text": ("", "a metric's name is empty"),
    "spaces": ("is it polite", "'is it polite' is not the name of a metric: write a name such as"),
    "call as metric": ({"metric": "length(max_words=3)"}, "'length(max_words=3)' is not the name of a metric"),
    "no function": ("python:", "'python:' is not the name of a metric"),
    "no program": ("command: ", "'command:' is not the name of a metric"),
    "options are a text": ({"regex": "^a"}, "'regex' has the text '^a' instead of options: write a mapping"),
    "options is a list": ({"metric": "a", "options": [1]}, "`options` of 'a' is a list: write a mapping"),
    "an option twice": ({"metric": "a", "b": 1, "options": {"b": 2}}, "'a' has the option 'b' twice: keep one"),
    "metric twice": ({"a": {"metric": "b"}}, "'a' has an option 'metric': name one metric"),
    "number as option": ({"metric": "a", 1: 2}, "'a' has an option called 1: use texts"),
    "name is empty": ({"metric": "a", "name": " "}, "`name` of 'a' is empty: write a text, or leave it out"),
    "name is a number": ("a(name=5)", "`name` of 'a' is the number 5: write a text, in quotes"),
    "name with a line break": ({"metric": "a", "name": "b\nc"}, "`name` of 'a' contains a control character"),
    "judge is empty": ({"metric": "a", "judge": ""}, "`judge` of 'a' is empty: write a text"),
    "judge is a list": ({"metric": "a", "judge": []}, "`judge` of 'a' is a list: write a text"),
    "not is a text": ({"metric": "a", "not": "yes"}, "`not` of 'a' is the text 'yes': write true or false"),
    "not is a number": ("a(not=1)", "`not` of 'a' is the number 1: write true or false"),
    "two of one name": (["regex", {"regex": {}}], "two uses are called 'regex': give one of them another name"),
    "one called like another": (["a", {"metric": "b", "name": "a"}], "two uses are called 'a'"),
    "no equals sign": ("regex(^a)", "'^a' in 'regex' is not an option: write option=value"),
    "not an option's name": ("regex(^a=b)", "'^a=b' in 'regex' is not an option"),
    "option twice in brackets": ("a(b=1, b=2)", "'a' has the option 'b' twice: keep one of them"),
    "comma at the end": ("a(b=1,)", "'' in 'a' is not an option: write option=value"),
    "not closed": ("regex(pattern=^a", "'regex(pattern=^a' does not end with its closing bracket: write name("),
    "something behind": ("regex(pattern=^a) x", "does not end with its closing bracket"),
    "closed twice": ("regex(pattern=a))", "closes a bracket ')' that is not open: put the whole value in quotes"),
    "wrong bracket": ("regex(pattern=[a)])", "closes a bracket ')' that is not open"),
    "inner not closed": ("regex(pattern=[a)", "does not close its bracket '['"),
    "quote not closed": ('regex(pattern="a)', 'does not close its quote ": close it, or put the whole value in quotes'),
    "quote with a tail": ('regex(pattern="a"b)', "continues after its closing quote"),
    "backslash": (r'regex(pattern="\d")', r'"\d" is not a JSON text: write \\ for \, or use single quotes'),
}


@each(("value", "sentence"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_refused_with_what_to_write(value: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is checked
        parse_uses(value)

    assert sentence in str(caught.value)


@each(
    ("text", "sentence"),
    [
        ("", "no metric is named: write one or more names, separated by commas"),
        (" ", "no metric is named"),
        ("is_json,,length", "a metric's name is empty"),
        ("is_json,", "a metric's name is empty"),
        ("regex(pattern=(a), length", "does not close its bracket '('"),
        ("a, b(name=a)", "two uses are called 'a'"),
        ('"is_json" x', "continues after its closing quote"),
    ],
)
def test_a_wrong_text_of_the_command_line_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is checked
        parse_uses_text(text)

    assert sentence in str(caught.value)


@each("value", [[], {}, ["x y"], "f(", "regex(pattern=", "python:a:b(x"], ids=repr)
def test_a_list_a_mapping_or_a_call_is_meant_as_uses(value: Any) -> None:
    assert is_meant_as_uses(value)


@each("value", [None, 3, True, "", "later", "see below (twice)", "50%"], ids=repr)
def test_a_plain_text_a_number_or_null_may_mean_anything(value: Any) -> None:
    assert not is_meant_as_uses(value)


pieces = st.lists(
    st.sampled_from([*"()[]{},=\"'\\ \n.-:", "a", "is_json", "name=", "not=", "true", "9", "python:", "command:", "é"])
).map("".join)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | pieces,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | pieces | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@given(text=st.text() | pieces, value=anything)
def test_nothing_raises_anything_but_a_value_error(text: str, value: Any) -> None:
    for read, written in ((parse_uses_text, text), (parse_uses, text), (parse_uses, value)):
        try:
            uses = read(written)
        except ValueError as error:
            assert ": " in str(error)  # noqa: PT017 - most inputs raise, and all of them have to say what to write
        else:
            assert len({use.key for use in uses}) == len(uses)


def test_deep_nesting_is_a_text_not_a_crash() -> None:
    (use,) = parse_uses(f"x(v={'[' * 5_000}{']' * 5_000})")

    assert isinstance(use.options["v"], str)
