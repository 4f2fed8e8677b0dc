"""What GitHub shows of a report: annotations at the lines of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from prompt_evaluator.model.report import CompareReport, RefusedReport, RunReport
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.run_verdict import run_mark, run_verdict
from prompt_evaluator.reports.safe_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model.comparison_findings import FlippedCase
    from prompt_evaluator.model.findings import Findings
    from prompt_evaluator.model.report import ReportCase

Kind = Literal["error", "warning", "notice"]
MOST_ANNOTATIONS = 10
"""Of each kind in one step. GitHub drops the others without a word."""
_MESSAGE, _TITLE = 1_000, 120
"""Characters."""


class Place(NamedTuple):
    """Where a case is written."""

    file: str
    """Relative to the repository."""
    line: int | None


def annotation_lines(report: RunReport | CompareReport | RefusedReport, places: Mapping[str, Place]) -> Iterator[str]:
    """Lines that GitHub turns into annotations, and one that says how many cases have none.

    Args:
        report: The report.
        places: Of cases, by id. A case without one is annotated, too, but at no line.
    """
    match report:
        case RunReport():
            yield from _of_run(report, places)
        case CompareReport():
            yield from _of_comparison(report, places)
        case RefusedReport():
            yield command_line("error", report.reason, title="The runs were not compared")


def noted_cases(report: RunReport | CompareReport | RefusedReport) -> list[str]:
    """Ids of cases that are annotated."""
    match report:
        case RunReport():
            return [each.test_case_id for each in _failing(report)[:MOST_ANNOTATIONS]]
        case CompareReport():
            return list(_drops(report))[:MOST_ANNOTATIONS]
        case RefusedReport():
            return []


def _of_run(report: RunReport, places: Mapping[str, Place]) -> Iterator[str]:
    kind: Kind = "error" if run_mark(report) == "bad" else "warning"
    missed = report.findings.facts.missed_bars if report.findings.facts else ()
    yield from (command_line("error", note.text, title="Missed bar") for note in missed[:MOST_ANNOTATIONS])
    if not missed and (report.findings.headline.mark == "bad" or report.findings.no_scores):
        yield command_line(kind, _reason(report.findings), title=run_verdict(report).rstrip("."))
    room = MOST_ANNOTATIONS - (max(1, min(len(missed), MOST_ANNOTATIONS)) if kind == "error" else 0)
    failing = _failing(report)[:room]
    for each in failing:
        title = f"{each.test_case_id} fails"
        yield command_line(kind, _reasons(each), title=title, place=places.get(each.test_case_id))
    yield from _more(report.failing_cases - len(failing), "failing case")


def _reason(found: Findings) -> str:
    """Why a run has no numbers to look at, or not all."""
    errors = found.facts.errors if found.facts else None
    first = errors.failures[0].message if errors and errors.failures else None
    known = (found.no_scores.text if found.no_scores else None, errors.text if errors else None, first)
    return " ".join(text for text in known if text) or found.headline.text


def _of_comparison(report: CompareReport, places: Mapping[str, Place]) -> Iterator[str]:
    kind: Kind = "error" if report.findings.mark == "bad" else "warning"
    yield command_line("notice", report.findings.headline, title=report.title)
    drops = _drops(report)
    shown = 0
    for case_id in noted_cases(report):
        flips = drops[case_id]
        shown += len(flips)
        message = "; ".join(f"{flip.metric} {flip.text}" for flip in flips)
        yield command_line(kind, message, title=f"{case_id} got worse", place=places.get(case_id))
    total = sum(each.case_classes.get("worse", 0) for each in report.comparison.metrics.values())
    yield from _more(total - shown, "drop")


def _failing(report: RunReport) -> tuple[ReportCase, ...]:
    """They come first among the worst."""
    return report.worst[: report.failing_cases]


def _drops(report: CompareReport) -> dict[str, list[FlippedCase]]:
    """What got worse, by case."""
    found: dict[str, list[FlippedCase]] = {}
    for flip in report.findings.flipped.cases:
        if flip.class_ == "worse":
            found.setdefault(flip.test_case_id, []).append(flip)
    return found


def _reasons(case: ReportCase) -> str:
    """Its metrics, the flags that are marked, and an error."""
    marked = [each.text for each in case.findings.metrics]
    marked += [f"flag {each.name}: {each.text}" for each in case.findings.flags if each.mark in ("bad", "warning")]
    errors = [answer.error for answer in case.answers if answer.error][:1]
    return "; ".join((*marked, *errors)) or "see the report"


def _more(number: int, thing: str) -> Iterator[str]:
    if number > 0:
        yield f"{many(number, f'more {thing}')} without an annotation: see the summary and the report."


def command_line(kind: Kind, message: str, *, title: str, place: Place | None = None) -> str:
    """A line that GitHub turns into an annotation."""
    known: dict[str, str] = {}
    if place is not None and place.file.isprintable():
        known = {"file": place.file, **({"line": str(place.line)} if place.line else {})}
    known["title"] = _cut(title, _TITLE)
    properties = ",".join(f"{name}={_property(value)}" for name, value in known.items())
    return f"::{kind} {properties}::{_data(_cut(message, _MESSAGE))}"


def _cut(text: str, most: int) -> str:
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _data(text: str) -> str:
    """Escape the text of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
