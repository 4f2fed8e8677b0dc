"""What a person reads about compared runs: kept as text files, to be looked at when they change."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from comparisons import (
    CANDIDATE,
    answer,
    case,
    compared_by,
    comparison,
    everything,
    facts,
    flag,
    metric,
    missing,
    same,
    slice_,
    too_few,
    undecided,
)
from entries import each
from snapshots import WIDTHS, check

from prompt_evaluator.cli.comparison_answers import shown_case_lines
from prompt_evaluator.cli.comparison_view import comparison_lines, next_lines
from prompt_evaluator.cli.several_view import several_lines
from prompt_evaluator.cli.text import cells, plain
from prompt_evaluator.model.comparison import Change
from prompt_evaluator.reports.comparison import comparison_findings
from prompt_evaluator.reports.comparison_answers import shown_case
from prompt_evaluator.reports.comparison_verdicts import Letters
from prompt_evaluator.reports.several import letter, several_findings

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.comparison_findings import ShownCase

LONG = "does-it-answer-every-part-of-a-question-with-several-parts"


def page(compared: Comparison, width: int) -> list[str]:
    found = comparison_findings(compared, compared_by())
    return [*comparison_lines(found, width), "", *next_lines(found.next_steps, width)]


def no_difference() -> Comparison:
    return comparison({"tone": same(p_value=0.01), "clarity": same()}, differs={})


def few() -> Comparison:
    return comparison({"tone": too_few(), "clarity": too_few(2)}, common_cases=3)


def huge() -> Comparison:
    """Many metrics with long names, a long diff with long lines, other scripts and control characters."""
    lines = [f"+{'Answer in the language of the customer. ' * 4}{at}" for at in range(200)]
    return comparison(
        {
            **{f"{LONG}-{at}": undecided() for at in range(38)},
            "日本語の正確さ": metric("worse", case_classes={"worse": 30}),
            "\x1b[31mred": missing(),
        },
        {f"{LONG}-{at}": flag("worse") for at in range(3)},
        [case(f"{LONG}\x1b[2J-{at}", of="日本語の正確さ") for at in range(30)],
        baseline=facts(f"runs/{LONG}/{LONG}/dataset_evaluation.json", note="zażółć gęślą jaźń " * 10),
        candidate=facts(CANDIDATE),
        differs={
            "prompt": Change(baseline="a", candidate="b", diff="\n".join(["@@ -1 +1,200 @@", *lines])),
            "parameters.stop": Change(baseline="x" * 500, candidate=None),
        },
        slices=(slice_("zażółć", key=LONG),),
        slice_comparisons=1_200,
        warnings=(f"{LONG} is not compared: its scale is 1 to 5 in the baseline, 0 to 1 in the candidate.",),
    )


def several(width: int) -> list[str]:
    compared = [
        everything(),
        comparison({"clarity": same(), "correctness": undecided()}, candidate=facts("77777777"), common_cases=48),
        comparison({"clarity": metric("better", 4.4, 4.9)}, candidate=facts("5a5a5a5a"), differs={}),
    ]
    made = [comparison_findings(each, compared_by(), letter=letter(at)) for at, each in enumerate(compared, 1)]
    found = several_findings(compared, made)
    return [*several_lines(found, width), "", *next_lines(found.next_steps, width)]


def shown(before: str = "", after: str = "", question: str | None = "Why was I charged twice?") -> ShownCase:
    flips = comparison_findings(everything(), compared_by()).flipped.cases[:1]
    reasons = {"correctness": "Names the cause and the remedy, as the reference does."}
    sides = (
        [answer(before, at, scores={"correctness": 5 - at % 2, "tone": 4}, reasons=reasons) for at in range(3)],
        [answer(after, at, scores={"correctness": 2, "tone": 4.5}, flags=("leaks_data",)) for at in range(3)],
    )
    return shown_case("charged-twice-0", flips, sides, Letters("A", "B"), question)


def answers(width: int) -> list[str]:
    return shown_case_lines(
        shown(
            "You were charged twice because the bank retried. We will refund one charge within five days.\n\nSorry!",
            "You were charged twice because of an error. We will refund both charges within five days.\n\nSorry!",
        ),
        width,
    )


PAGES: dict[str, Callable[[int], list[str]]] = {
    "everything": lambda width: page(everything(), width),
    "no_difference": lambda width: page(no_difference(), width),
    "few": lambda width: page(few(), width),
    "huge": lambda width: page(huge(), width),
    "several": several,
    "answers": answers,
}


@each("name", PAGES)
def test_comparisons_read_as_they_did(name: str) -> None:
    text = plain("\n".join(PAGES[name](80)))

    check(f"compare_{name}", text)
    assert "\x1b" not in text


@each(("name", "width"), product(PAGES, WIDTHS))
def test_no_line_is_wider_than_the_terminal_except_commands(name: str, width: int) -> None:
    lines = [line for line in plain("\n".join(PAGES[name](width))).split("\n") if cells(line) >= width]

    assert [line for line in lines if "prompt-evaluator" not in line] == []


def test_every_colour_comes_with_a_mark_or_a_word() -> None:
    numbers = page(everything(), 160)[5:]  # below the headline, whose first line has a mark
    rows = [line for line in numbers if "\x1b[31m" in line or "\x1b[32m" in line]

    assert rows
    assert all(any(sign in plain(row) for sign in ("✗", "✓", "+", "-")) for row in rows)


def test_a_long_diff_is_cut_and_says_where_all_of_it_is() -> None:
    lines = [plain(line) for line in page(huge(), 160)]

    assert sum(line.lstrip().startswith("+Answer") for line in lines) < 45
    assert any("more lines in --json" in line for line in lines)


def test_answers_are_side_by_side_if_the_terminal_is_wide() -> None:
    wide, narrow = (plain("\n".join(answers(width))) for width in (160, 80))

    assert re.search("A, sample 1 of 3 +│ B, sample 1 of 3", wide)
    assert "│" not in narrow
    assert narrow.index("A, sample 1 of 3") < narrow.index("B, sample 1 of 3")


def test_words_that_differ_are_marked_in_both_answers() -> None:
    found = shown("The cause is the bank.", "The cause is an error.")

    assert [each.answer for each in found.answers] == ["The cause is [-the bank.-]", "The cause is {+an error.+}"]
    assert found.likeness == "words that differ are marked [-in A-] and {+in B+}"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("Yes.", "Yes.", "the answers are equal"),
        ("It was the bank.", "Nobody can know this today, sorry.", "the answers have little in common"),
        ("a " * 3_000, "b " * 3_000, "the answers are too long to mark what differs"),
    ],
)
def test_answers_are_not_marked_if_that_would_not_help(before: str, after: str, said: str) -> None:
    found = shown(before, after)

    assert found.likeness == said
    assert [each.answer for each in found.answers] == [before, after]


def test_a_typical_sample_is_shown_not_an_extreme_one() -> None:
    flips = comparison_findings(everything(), compared_by()).flipped.cases[:1]
    sides = [
        [answer(f"score {score}", at, scores={"correctness": score}) for at, score in enumerate(scores)]
        for scores in ((1, 5, 4, 5), (5, 2, 2, 1))
    ]
    found = shown_case("charged-twice-0", flips, (sides[0], sides[1]), Letters("A", "B"))

    assert [each.title for each in found.answers] == ["A, sample 3 of 4", "B, sample 2 of 4"]
    assert found.scores[0].text == "1, 5, 4, 5 → 5, 2, 2, 1: worse"


def test_a_sample_with_an_answer_is_preferred_and_errors_are_said() -> None:
    flips = comparison_findings(everything(), compared_by()).flipped.cases[:1]
    failed = answer(None, 0, error="rate limited")
    found = shown_case("x", flips, ([failed, answer("Yes.", 1)], [failed]), Letters("A", "B"))

    assert [(each.title, each.error) for each in found.answers] == [
        ("A, sample 2 of 2", None),
        ("B, sample 1 of 1", "rate limited"),
    ]
    assert "  error: rate limited" in plain("\n".join(shown_case_lines(found, 80)))


def test_unknown_answers_are_said_to_be_unknown() -> None:
    flips = comparison_findings(everything(), compared_by()).flipped.cases[:1]
    found = shown_case("x", flips, ([], []), Letters("A", "B"))

    assert "The answers are not known." in plain("\n".join(shown_case_lines(found, 80)))


def test_an_answer_without_spaces_is_cut_into_lines() -> None:
    lines = shown_case_lines(shown("x" * 1_000, "水" * 300), 80)

    assert max(cells(plain(line)) for line in lines) < 80


def test_letters_go_on_after_z() -> None:
    made: list[Any] = [letter(at) for at in (0, 1, 25, 26, 27)]

    assert made == ["A", "B", "Z", "A2", "B2"]
