"""The verdict on one run in a sentence: what the marks of its metrics, flags and cases add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import listed, many

if TYPE_CHECKING:
    from prompt_evaluator.model.findings import Findings, Mark
    from prompt_evaluator.model.report import RunReport

_NAMED = 3


def run_verdict(report: RunReport) -> str:
    """Missed bars if there are any; otherwise what most needs attention."""
    found = report.findings
    missed = found.facts.missed_bars if found.facts else ()
    return " ".join(f"{note.text.rstrip('.')}." for note in missed) if missed else _judged(report)


def run_mark(report: RunReport) -> Mark | None:
    """Bad if the run ended early or missed a bar; a warning if something fails, is bad or lacks scores."""
    found = report.findings
    if found.headline.mark == "bad" or (found.facts and found.facts.missed_bars):
        return "bad"
    errors = bool(found.facts and found.facts.errors)
    if _marked(found, "bad") or errors or found.no_scores or report.failing_cases or found.headline.mark == "warning":
        return "warning"
    return None if _marked(found, "warning") or found.headline.synthetic else "good"


def cases_failing(report: RunReport) -> str:
    """`2 of 8 cases fail`; of a run without any score, that there is none."""
    if not report.findings.metrics:
        return "No case has a score"
    failing = report.failing_cases
    if not failing:
        return "No case fails"
    return f"{failing:,} of {many(report.findings.headline.cases, 'case')} {'fails' if failing == 1 else 'fail'}"


def _judged(report: RunReport) -> str:
    found = report.findings
    if found.headline.status == "queued":
        return "The run has not started yet."
    if found.headline.status == "running":
        return "The run is still in progress."
    if found.headline.mark == "bad":
        return "The run did not end as planned."
    return "There are no scores." if found.no_scores else _scored(report)


def _scored(report: RunReport) -> str:
    found = report.findings
    bad = _marked(found, "bad")
    fail = f"{cases_failing(report)}; look at" if report.failing_cases else "Look at"
    if bad:
        return f"{fail} {_names(bad)}."
    if found.headline.mark == "warning" or (found.facts and found.facts.errors):
        return "Some samples have no score."
    weak = _marked(found, "warning")
    if report.failing_cases:
        return f"{fail} {_names(weak)}." if weak else f"{cases_failing(report)}."
    return f"Nothing is bad; {_names(weak)} could be better." if weak else "Nothing stands out as bad."


def _marked(found: Findings, mark: Mark) -> list[str]:
    """Names of metrics and flags with this mark."""
    metrics = [each.name for each in found.metrics if each.mark == mark]
    return metrics + [each.name for each in found.flags if each.mark == mark]


def _names(names: list[str]) -> str:
    return listed(names if len(names) <= _NAMED else [*names[:_NAMED], f"{len(names) - _NAMED:,} more"])
