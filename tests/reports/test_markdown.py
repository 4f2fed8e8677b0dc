"""Reports in Markdown."""

from __future__ import annotations

import pytest
from entries import each
from hostile import HOSTILE, storable
from html_reports import compare_report, hostile_comparison, hostile_report, little_report, run_report
from markdown_pages import effects, outline, parsed

from prompt_evaluator.reports.markdown import compare_markdown, run_markdown
from prompt_evaluator.reports.markdown_parts import block, figures, said

TEXTS = [storable(text) for text in HOSTILE.values()]


def headings(text: str) -> list[str]:
    tokens = parsed(text)
    return [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]


def test_a_report_on_a_run_has_every_section() -> None:
    report = run_report()
    text = "".join(run_markdown(report))

    assert headings(text)[1:] == [
        "Metrics",
        "What to do",
        "Errors, cost and samples",
        "Stability",
        "Slices",
        "Cases to read",
        "Charts",
        "How to run this again",
    ]
    assert report.reproduction.command
    assert report.reproduction.command in text
    assert "5f5f5f5f" in text
    assert all(case.test_case_id in text for case in report.worst)


def test_a_report_on_two_runs_has_every_section() -> None:
    text = "".join(compare_markdown(compare_report()))

    assert headings(text)[1:] == [
        "Metrics",
        "What to do",
        "What differs",
        "Errors, cost and time",
        "Cases",
        "Slices",
        "Charts",
        "How to run this again",
    ]


def test_a_section_without_content_has_no_heading() -> None:
    assert headings("".join(run_markdown(little_report())))[1:] == [
        "Metrics",
        "Errors, cost and samples",
        "How to run this again",
    ]


def test_what_varies_is_named() -> None:
    text = "".join(run_markdown(run_report()))

    assert "| charged-twice | accuracy | 2.20 | 1.30 | 1 to 5 | 2 of 5 | the answers |" in text
    assert "| the judge |" in text


@each("at", range(0, len(TEXTS) - 4, 4))
def test_nothing_that_others_wrote_has_an_effect(at: int) -> None:
    assert effects("".join(run_markdown(hostile_report(TEXTS[at : at + 5])))) == []
    assert effects("".join(compare_markdown(hostile_comparison(TEXTS[at : at + 5])))) == []


@each("text", [text for text in TEXTS if text.strip()], ids=lambda text: repr(text[:20]))
def test_hostile_names_change_no_block_of_a_report(text: str) -> None:
    made, harmless = ("".join(run_markdown(hostile_report([each] * 5))) for each in (text[:200], "plain text"))

    assert outline(made) == outline(harmless)


@each("text", TEXTS, ids=lambda text: repr(text[:20]))
def test_figures_that_are_not_numbers_are_escaped(text: str) -> None:
    assert effects(f"| a |\n| --- |\n| {figures(text)} |") == []


@pytest.mark.parametrize(
    "text", ["4.15 → 3.73", "+0.42 (\N{MINUS SIGN}0.60 to +0.24)", "p < 0.001", "12 %", "3 of 250", "1.2.3"]
)
def test_numbers_are_written_as_they_are(text: str) -> None:
    assert figures(text) == text


@pytest.mark.parametrize("text", ["x" * 9_000, "|" * 9_000, "\u202e" * 900, "🙂" * 9_000, "`" * 900])
def test_long_texts_are_cut_to_the_room_that_they_have(text: str) -> None:
    assert len(said(text, 300).encode()) <= 300
    assert len(block(text, 3_000).encode()) <= 3_000


def test_a_cut_text_says_how_much_is_missing() -> None:
    assert block("x" * 1_000, 200).splitlines()[1].endswith("more characters]")


def test_charts_are_said_once() -> None:
    said = "".join(run_markdown(run_report()))

    assert all(said.count(f"- {chart.title}.") == 1 for chart in run_report().charts)
