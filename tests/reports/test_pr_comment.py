"""The comment on a pull request, kept as text files: look at them when they change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from comparisons import comparison, metric, same, undecided
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

from prompt_evaluator.model.report import RefusedReport
from prompt_evaluator.reports.pr_comment import comment_marker, pr_comment

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.report import CompareReport

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "UPDATE_SNAPSHOTS"
"""Set this to write the files anew; then look at them before they are committed."""


def report(compared: Comparison, *, started_at: str | None = "2025-12-29T09:00:00Z") -> CompareReport:
    return compare_report(compared, flipped=(), baseline=reproduction(started_at=started_at))


def worse() -> Comparison:
    classes = {"worse": 2, "same": 48}
    return comparison(
        {"correctness": metric("worse", case_classes=classes), "tone": same(case_classes={"same": 50})},
        {},
    )


def better() -> Comparison:
    gain: dict[str, Any] = {"low": 0.2, "high": 0.6, "effect_size": 0.8, "wins": 40, "losses": 4}
    found = metric("better", 3.7, 4.1, case_classes={"better": 1, "same": 49}, **gain)
    return comparison({"correctness": found}, {}, [])


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


def test_no_name_ends_the_marker() -> None:
    for name in HOSTILE.values():
        marker = comment_marker(name, name)

        assert marker.removeprefix("<!-- prompt-evaluator: ").removesuffix(" -->").replace("-", "").isalnum()
        assert "--" not in marker[4:-4]


def test_a_comment_is_never_longer_than_github_takes() -> None:
    for text in ("|", "\u202e", "\U0001f600", "&"):
        made = (
            pr_comment(hostile_comparison([f"{text * 4_000}{at}" for at in range(20)])),
            pr_comment(hostile_report([f"{text * 4_000}{at}" for at in range(20)])),
            pr_comment(big_report(text * 4_000)),
            pr_comment(RefusedReport(dataset_name=text * 9_000, reason=text * 90_000, made_at="", version="")),
        )

        assert all(len(comment.encode()) <= 65_536 for comment in made)
        assert all("> [!" in comment for comment in made)


def test_the_whole_report_is_one_link_away() -> None:
    made = pr_comment(refused(), link="https://github.test/acme/bot/actions/runs/7")

    assert "[The whole report](https://github.test/acme/bot/actions/runs/7)" in made
    assert "](" not in pr_comment(refused())


def test_nothing_that_others_wrote_has_an_effect() -> None:
    texts = [storable(text) for text in HOSTILE.values() if text.strip()]
    for made in (hostile_comparison, hostile_report):
        harmless = outline(pr_comment(made(["plain text"] * 5)))
        for text in texts:
            found = pr_comment(made([text[:200]] * 5))
            assert effects(found) == [], text
            assert outline(found) == harmless, text
    reason = " ".join(texts)
    assert effects(pr_comment(RefusedReport(dataset_name=reason, reason=reason, made_at="", version=""))) == []
