"""The comment on a pull request, kept as text files: look at them when they change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from comparisons import answer, case, comparison, metric, same, undecided
from entries import each
from hostile import HOSTILE, storable
from html_reports import (
    big_report,
    compare_report,
    hostile_comparison,
    hostile_report,
    little_report,
    reproduction,
    run_report,
)
from markdown_pages import effects, outline

from prompt_evaluator.model.comparison import Change
from prompt_evaluator.model.report import RefusedReport
from prompt_evaluator.reports.comparison_answers import shown_case
from prompt_evaluator.reports.comparison_verdicts import Letters
from prompt_evaluator.reports.pr_comment import MOST_BYTES, comment_marker, pr_comment

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.comparison import CaseClass, Comparison
    from prompt_evaluator.model.report import CompareReport

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "UPDATE_SNAPSHOTS"
"""Set this to write the files anew; then look at them before they are committed."""
PROMPT = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n You answer customers.\n-Be polite.\n+Be polite and brief."
GOOD = "We will refund one of the charges within five days. You need not do anything."
BAD = "We will look at one of the charges. You need to call us."


def report(compared: Comparison, *, started_at: str | None = "2025-12-29T09:00:00Z") -> CompareReport:
    """Every flipped case with its answers."""
    made = compare_report(compared)
    texts = {"worse": (GOOD, BAD), "better": (BAD, GOOD)}
    flipped = tuple(
        shown_case(
            each.test_case_id,
            [each],
            tuple(_samples(text, 5.0 if text == GOOD else 2.0) for text in texts[each.class_]),  # type: ignore[arg-type]
            Letters("A", "B"),
            "I was charged twice. What now?",
        )
        for each in made.findings.flipped.cases
    )
    return compare_report(compared, flipped=flipped, baseline=reproduction(started_at=started_at))


def _samples(text: str, score: float) -> list[Any]:
    reason = {"correctness": "It says what happens next."} if score > 3 else {"correctness": "It asks for a call."}
    return [answer(text, at, scores={"correctness": score}, reasons=reason) for at in range(3)]


def flips(kind: CaseClass, number: int) -> list[Any]:
    before, after = (4.8, 2.2) if kind == "worse" else (2.2, 4.8)
    return [case(f"charged-twice-{at}", kind, before, after) for at in range(number)]


def worse(number: int = 2) -> Comparison:
    classes = {"worse": number, "same": 50 - number}
    return comparison(
        {"correctness": metric("worse", case_classes=classes), "tone": same(case_classes={"same": 50})},
        {},
        flips("worse", number),
        differs={"prompt": Change(baseline="a", candidate="b", diff=PROMPT)},
    )


def better() -> Comparison:
    gain: dict[str, Any] = {"low": 0.2, "high": 0.6, "effect_size": 0.8, "wins": 40, "losses": 4}
    found = metric("better", 3.7, 4.1, case_classes={"better": 1, "same": 49}, **gain)
    return comparison({"correctness": found}, {}, flips("better", 1))


def cannot_tell() -> Comparison:
    return comparison({"correctness": undecided(case_classes={"same": 20})}, {}, [], common_cases=20)


def refused() -> RefusedReport:
    reason = (
        "The runs have different rubrics (default and strict). Pass --allow-different to compare them all the same."
    )
    return RefusedReport(dataset_name="support", reason=reason, made_at="2026-01-01T10:00:00Z", version="1.2.3")


COMMENTS: dict[str, Callable[[], str]] = {
    "better": lambda: pr_comment(report(better())),
    "worse": lambda: pr_comment(report(worse(), started_at="2025-12-12T09:00:00Z")),
    "cannot_tell": lambda: pr_comment(report(cannot_tell())),
    "no_difference": lambda: pr_comment(report(comparison({"tone": same()}, differs={}))),
    "refused": lambda: pr_comment(refused()),
    "run": lambda: pr_comment(run_report(), name="Answers of support"),
    "little": lambda: pr_comment(little_report()),
}


@pytest.mark.parametrize("name", COMMENTS)
def test_comments_read_as_they_did(name: str) -> None:
    text = COMMENTS[name]()
    path = GOLDEN / f"pr_comment_{name}.md"
    if os.environ.get(UPDATE):
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8"), f"{UPDATE}=1 writes {path.name} anew"


@pytest.mark.parametrize(
    ("name", "alert"),
    [
        ("better", "TIP"),
        ("worse", "CAUTION"),
        ("cannot_tell", "WARNING"),
        ("no_difference", "NOTE"),
        ("refused", "WARNING"),
        ("run", "WARNING"),
    ],
)
def test_the_verdict_comes_first_in_a_box_of_its_colour(name: str, alert: str) -> None:
    _marker, blank, box, verdict = COMMENTS[name]().splitlines()[:4]

    assert (blank, box) == ("", f"> [!{alert}]")
    assert verdict.startswith("> **")


def test_an_old_baseline_is_pointed_out_and_a_young_one_is_not() -> None:
    old, young = (pr_comment(report(worse(), started_at=f"2025-12-{day}T10:00:00Z")) for day in (24, 25))

    assert "The baseline is 8 days old." in old
    assert "the baseline, 7 days old" in young
    assert "may have changed" not in young


@pytest.mark.parametrize("started_at", [None, "yesterday", "2025-12-24T10:00:00"])
def test_a_baseline_of_unknown_age_is_called_that(started_at: str | None) -> None:
    assert "the baseline, of unknown age" in pr_comment(report(worse(), started_at=started_at))


def test_the_marker_is_the_first_line_and_stays_the_same_from_run_to_run() -> None:
    first, second = (pr_comment(report(each)) for each in (better(), worse()))

    assert first.splitlines()[0] == second.splitlines()[0] == comment_marker("support")
    assert pr_comment(refused()).splitlines()[0] == comment_marker("support")


def test_suites_have_comments_of_their_own() -> None:
    markers = {comment_marker("support"), comment_marker("support", "short prompt"), comment_marker("faq")}

    assert len(markers) == 3


@each("name", HOSTILE)
def test_no_name_ends_the_marker(name: str) -> None:
    marker = comment_marker(HOSTILE[name], HOSTILE[name])

    assert marker.removeprefix("<!-- prompt-evaluator: ").removesuffix(" -->").replace("-", "").isalnum()
    assert "--" not in marker[4:-4]


def test_of_many_cases_as_many_as_fit_are_shown_and_the_others_are_counted() -> None:
    long = report(worse(20))
    answers = tuple(shown_case(f"charged-twice-{at}", [], (_samples("x" * 4_000, 5), _samples("y" * 4_000, 2)),
                               Letters("A", "B"), "z" * 4_000) for at in range(10))  # fmt: skip
    text = pr_comment(compare_report(long.comparison, flipped=answers))
    shown = text.count("<summary> charged-twice") + text.count("<summary>charged-twice")

    assert MOST_BYTES - 15_000 < len(text.encode()) <= MOST_BYTES
    assert 0 < shown < 10
    assert f"{10 - shown} cases more are in the report: a comment cannot be longer." in text


@pytest.mark.parametrize("text", ["|", "\u202e", "\U0001f600", "&", "é"])
def test_a_comment_is_never_longer_than_github_takes(text: str) -> None:
    made = (
        pr_comment(hostile_comparison([f"{text * 4_000}{at}" for at in range(6)])),
        pr_comment(hostile_report([f"{text * 4_000}{at}" for at in range(6)])),
        pr_comment(big_report(text * 4_000)),
        pr_comment(RefusedReport(dataset_name=text * 9_000, reason=text * 90_000, made_at="", version="")),
    )

    assert all(len(comment.encode()) <= MOST_BYTES for comment in made)
    assert all("> [!" in comment for comment in made)


HARMLESS = ["plain text"] * len(HOSTILE)
TEXTS = [storable(text) for text in HOSTILE.values()]


def batches() -> list[list[str]]:
    """Few at a time, so that none is cut off with the end of the comment."""
    return [TEXTS[at : at + 5] for at in range(0, len(TEXTS) - 4, 4)]


@each("texts", batches(), ids=lambda texts: repr(texts[0][:20]))
def test_nothing_that_others_wrote_has_an_effect(texts: list[str]) -> None:
    assert effects(pr_comment(hostile_comparison(texts))) == []
    assert effects(pr_comment(hostile_report(texts))) == []
    reason = " ".join(texts)
    assert effects(pr_comment(RefusedReport(dataset_name=reason, reason=reason, made_at="", version=""))) == []


@each("text", [text for text in TEXTS if text.strip()], ids=lambda text: repr(text[:20]))
def test_hostile_names_change_no_block_of_a_comment(text: str) -> None:
    made, harmless = (hostile_comparison([each] * 5) for each in (text[:200], "plain text"))

    assert outline(pr_comment(made)) == outline(pr_comment(harmless))
