"""Annotations and summaries for GitHub."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from comparisons import case, comparison, metric, same
from entries import each
from hostile import HOSTILE, storable
from html_reports import compare_report, hostile_comparison, hostile_report, little_report, report_case, run_report

from prompt_evaluator.model.characters import visible
from prompt_evaluator.model.findings import Note
from prompt_evaluator.model.report import RefusedReport, RunReport
from prompt_evaluator.reports.github import Place, annotation_lines

COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-z]+=[^:,]*)(?:,[a-z]+=[^:,]*)*)::(.*)")
TEXTS = [storable(text) for text in HOSTILE.values()]


def commands(lines: list[str]) -> list[tuple[str, dict[str, str], str]]:
    """Kind, properties and message, as GitHub reads them."""
    found = [COMMAND.fullmatch(line) for line in lines if line.lstrip().startswith("::")]
    assert all(found), lines
    return [(each[1], dict(_pair(part) for part in each[2].split(",")), _read(each[3])) for each in found if each]


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return name, _read(value)


def _read(text: str) -> str:
    for code, sign in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, sign)
    return text


def failing(number: int, *, shown: int | None = None, **more: Any) -> RunReport:
    cases = tuple(report_case(f"case-{at}") for at in range(number if shown is None else shown))
    return run_report(worst=cases, failing_cases=number, **more)


def with_missed_bar(report: RunReport) -> RunReport:
    assert report.findings.facts
    note = Note(code="below_bar", text="accuracy is 3.62, below 4.")
    facts = msgspec.structs.replace(report.findings.facts, missed_bars=(note,))
    return msgspec.structs.replace(report, findings=msgspec.structs.replace(report.findings, facts=facts))


def drops(number: int) -> Any:
    found = metric("worse", case_classes={"worse": number})
    return compare_report(comparison({"correctness": found}, {}, [case(f"case-{at}") for at in range(number)]))


def test_a_failing_case_is_annotated_at_its_line() -> None:
    lines = list(annotation_lines(failing(1), {"case-0": Place("evals/data.yaml", 12)}))
    [(kind, properties, message)] = commands(lines)

    assert kind == "warning"
    assert properties == {"file": "evals/data.yaml", "line": "12", "title": "case-0 fails"}
    assert "2.20 ± 1.30" in message


def test_a_missed_bar_makes_errors_of_failing_cases() -> None:
    found = commands(list(annotation_lines(with_missed_bar(failing(1)), {})))

    assert [(kind, properties["title"]) for kind, properties, _ in found] == [
        ("error", "Missed bar"),
        ("error", "case-0 fails"),
    ]


def test_a_case_without_a_place_is_annotated_at_no_line() -> None:
    [(_, properties, _)] = commands(list(annotation_lines(failing(1), {})))

    assert properties == {"title": "case-0 fails"}


@pytest.mark.parametrize(("number", "shown"), [(10, 10), (11, 10), (400, 10)])
def test_at_most_ten_cases_are_annotated_and_the_others_are_counted(number: int, shown: int) -> None:
    lines = list(annotation_lines(failing(number, shown=min(number, 20)), {}))
    rest = [line for line in lines if not line.startswith("::")]

    assert len(commands(lines)) == shown
    assert [line.split()[0] for line in rest] == ([str(number - shown)] if number > shown else [])


def test_a_missed_bar_counts_among_the_ten() -> None:
    assert len(commands(list(annotation_lines(with_missed_bar(failing(20)), {})))) == 10


def test_cases_that_got_worse_are_errors_after_the_verdict() -> None:
    first, second = commands(list(annotation_lines(drops(1), {"case-0": Place("data.yaml", None)})))

    assert first[0] == "notice"
    assert first[2].startswith("B is worse than A")
    assert second == (
        "error",
        {"file": "data.yaml", "title": "case-0 got worse"},
        "correctness 4.80 → 2.20, p = 0.004",
    )


def test_drops_beyond_ten_are_counted() -> None:
    lines = list(annotation_lines(drops(14), {}))

    assert len(commands(lines)) == 11
    assert lines[-1] == "4 more drops without an annotation: see the summary and the report."


def test_nothing_to_complain_about_gives_no_errors() -> None:
    assert list(annotation_lines(little_report(), {})) == []
    assert [
        kind for kind, *_ in commands(list(annotation_lines(compare_report(comparison({"tone": same()})), {})))
    ] == ["notice"]


def test_a_refused_comparison_is_an_error() -> None:
    refused = RefusedReport(dataset_name="support", reason="The rubrics differ.", made_at="", version="1")

    assert list(annotation_lines(refused, {})) == ["::error title=The runs were not compared::The rubrics differ."]


@each("text", TEXTS, ids=lambda text: repr(text[:20]))
def test_no_text_ends_an_annotation_or_starts_another(text: str) -> None:
    place = {text[:4_000]: Place(f"data/{text}.yaml", 3)}
    hostile = RefusedReport(dataset_name=text, reason=text, made_at="", version="")
    for report in (hostile_report([text] * 5), hostile_comparison([text] * 5), hostile):
        lines = list(annotation_lines(report, place))
        found = commands(lines)

        assert all(line == visible(line) and "\n" not in line for line in lines)
        assert all(properties.keys() <= {"file", "line", "title"} for _, properties, _ in found)
        assert sum(line.startswith("::") for line in lines) == len(found) > 0


def test_a_run_without_scores_is_an_error_with_its_reason() -> None:
    base = run_report(worst=(), failing_cases=0)
    head = msgspec.structs.replace(base.findings.headline, status="failed", mark="bad")
    note = Note(code="no_scores", text="No scores: no sample was judged.")
    assert base.findings.facts
    facts = msgspec.structs.replace(base.findings.facts, missed_bars=())
    found = msgspec.structs.replace(base.findings, headline=head, no_scores=note, metrics=(), facts=facts)

    ((kind, properties, message),) = commands(
        list(annotation_lines(run_report(findings=found, worst=(), failing_cases=0), {}))
    )

    assert (kind, properties) == ("error", {"title": "The run did not end as planned"})
    assert message.startswith("No scores: no sample was judged.")
    assert "api.openai.com answered 503" in message
