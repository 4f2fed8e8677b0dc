"""Differences between texts: nothing is lost, changes are where a reader sees them, and long texts stay quick."""

from __future__ import annotations

from itertools import pairwise

import pytest
from entries import each
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.compare.text_diff import Part, PathChange, json_diff, shortened, word_diff

"""Seconds: the slowest took one on a busy machine."""
WORDS = st.lists(st.sampled_from(["a", "the", "refund", " ", "\n", ".", "¡", "日本", "é", "🙂"]), max_size=40).map(
    "".join
)


def sides(parts: list[Part]) -> tuple[str, str]:
    before = "".join(text for op, text in parts if op != "added")
    return before, "".join(text for op, text in parts if op != "removed")


@given(WORDS | st.text(max_size=60), WORDS | st.text(max_size=60))
def test_both_texts_can_be_read_from_the_difference(before: str, after: str) -> None:
    parts = word_diff(before, after)

    assert sides(parts) == (before, after)
    assert all(part.text for part in parts)
    assert all(one.op != other.op for one, other in pairwise(parts))


@each("before", HOSTILE.values(), ids=HOSTILE)
def test_no_text_is_too_strange(before: str) -> None:
    after = f"x {before[: len(before) // 2]} y"

    assert sides(word_diff(before, after)) == (before, after)


def test_a_text_is_the_same_as_itself() -> None:
    assert word_diff("as it is", "as it is") == [("same", "as it is")]
    assert word_diff("", "") == []


def test_a_changed_word_is_removed_and_added() -> None:
    assert word_diff("Refund one charge.", "Refund both charges.") == [
        ("same", "Refund "),
        ("removed", "one charge"),
        ("added", "both charges"),
        ("same", "."),
    ]


def test_a_word_that_is_added_leaves_the_others_alone() -> None:
    parts = word_diff("I have refunded it.", "I have already refunded it.")

    assert [part for part in parts if part.op == "added"] == [("added", "already ")]
    assert not [part for part in parts if part.op == "removed"]


def test_scripts_without_spaces_are_compared_by_character() -> None:
    assert word_diff("返金します", "返品します") == [
        ("same", "返"),
        ("removed", "金"),
        ("added", "品"),
        ("same", "します"),
    ]


def test_an_apostrophe_does_not_split_a_word() -> None:
    assert ("removed", "don't") in word_diff("I don't know", "I do know")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("lorem ipsum " * 40_000, "ipsum dolor " * 40_000),
        ("x" * 1_000_000, "y" * 1_000_000),
        ("line\n" * 100_000, "other\n" * 100_000),
        (
            "".join(f"{at} is a number\n" for at in range(30_000)),
            "".join(f"{at} is odd\n" for at in range(0, 60_000, 2)),
        ),
        ("a b " * 200_000, "a b " * 100_000 + "c " + "a b " * 100_000),
        (" \n" * 100_000, ". " * 100_000),
    ],
    ids=["words", "one word", "lines", "backwards", "one word in many", "spaces and signs"],
)
def test_no_text_is_too_huge(before: str, after: str) -> None:
    parts = word_diff(before, after)

    assert sides(parts) == (before, after)


def test_a_change_in_a_huge_text_is_found_exactly() -> None:
    text = "".join(f"Line {at} says something of its own.\n" for at in range(20_000))

    parts = word_diff(
        text, text.replace("Line 7000 says", "Line 7000 shouts").replace("Line 9000 says", "Line 9000 asks")
    )

    assert [part for part in parts if part.op != "same"] == [
        ("removed", "says"),
        ("added", "shouts"),
        ("removed", "says"),
        ("added", "asks"),
    ]


def test_equal_lines_far_from_a_change_are_counted() -> None:
    text = "".join(f"line {at}\n" for at in range(20))

    found = shortened(word_diff(text, text.replace("line 10\n", "line ten\n")))

    numbers = [each for each in found if isinstance(each, int)]
    assert numbers == [8, 7]
    shown = "".join(each.text for each in found if isinstance(each, Part) and each.op == "same")
    assert "line 8\nline 9\nline " in shown
    assert "line 0\n" not in shown


def test_equal_texts_are_not_shortened() -> None:
    parts = word_diff("a\n" * 50, "a\n" * 50)

    assert shortened(parts) == parts


def test_json_is_compared_by_path() -> None:
    before = '{"name": "tea", "cups": 2, "of": [{"who": "a"}, 1], "gone": null}'
    after = '{"cups": 3, "name": "tea", "of": [{"who": "b"}, 1, {"x": []}], "a key": true}'

    assert json_diff(before, after) == [
        PathChange("cups", "2", "3"),
        PathChange("of[0].who", '"a"', '"b"'),
        PathChange("of[2]", None, '{"x":[]}'),
        PathChange("gone", "null", None),
        PathChange('["a key"]', None, "true"),
    ]


def test_json_of_another_kind_differs_as_a_whole() -> None:
    assert json_diff("[1]", '{"a": 1}') == [PathChange("", "[1]", '{"a":1}')]
    assert json_diff("[1, true]", "[1.0, 1]") == [PathChange("[0]", "1", "1.0"), PathChange("[1]", "true", "1")]


@pytest.mark.parametrize("text", ["", "12", '"a"', "{'a': 1}", "[" * 100_000, "{} and more", "\ud800"])
def test_what_is_not_a_json_object_or_list_has_no_paths(text: str) -> None:
    assert json_diff(text, "[]") is None


def test_equal_json_has_no_changes() -> None:
    assert json_diff('{"a": [1, 2]}', '{ "a":[1,2] }') == []


def test_many_changes_are_cut() -> None:
    assert len(json_diff(str(list(range(5_000))), str(list(range(1, 5_001)))) or ()) == 500
