"""The verdict on one run in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from html_reports import run_report

from prompt_evaluator.model.findings import Mark, Note
from prompt_evaluator.reports.run_verdict import cases_failing, run_mark, run_verdict

if TYPE_CHECKING:
    from prompt_evaluator.model.report import RunReport

NO_SCORES = Note(code="no_scores", text="No scores: no sample was judged.")


def ended(status: str, mark: Mark, **more: Any) -> RunReport:
    base = run_report()
    head = msgspec.structs.replace(base.findings.headline, status=status, mark=mark)
    facts = msgspec.structs.replace(base.findings.facts, missed_bars=()) if base.findings.facts else None
    return run_report(findings=msgspec.structs.replace(base.findings, headline=head, facts=facts, **more))


@pytest.mark.parametrize(
    ("report", "verdict", "mark"),
    [
        (ended("running", "warning"), "The run is still in progress.", "warning"),
        (ended("aborted", "bad"), "The run did not end as planned.", "bad"),
        (ended("failed", "bad", metrics=(), no_scores=NO_SCORES), "The run did not end as planned.", "bad"),
        (ended("completed", "good", metrics=(), no_scores=NO_SCORES), "There are no scores.", "warning"),
        (ended("completed", "good"), "9 of 50 cases fail; look at accuracy.", "warning"),
    ],
    ids=["in progress", "stopped", "failed", "without scores", "with failing cases"],
)
def test_it_says_what_most_needs_attention(report: RunReport, verdict: str, mark: Mark) -> None:
    assert (run_verdict(report), run_mark(report)) == (verdict, mark)


def test_a_missed_bar_comes_first() -> None:
    report = ended("completed", "good")
    assert report.findings.facts
    missed = (Note(code="below_bar", text="accuracy is 3.62, below its bar of 4."),)
    facts = msgspec.structs.replace(report.findings.facts, missed_bars=missed)
    report = run_report(findings=msgspec.structs.replace(report.findings, facts=facts))

    assert (run_verdict(report), run_mark(report)) == ("accuracy is 3.62, below its bar of 4.", "bad")


def test_cases_without_any_score_are_not_called_good() -> None:
    assert cases_failing(ended("failed", "bad", metrics=())) == "No case has a score"
    assert cases_failing(run_report(failing_cases=0)) == "No case fails"
