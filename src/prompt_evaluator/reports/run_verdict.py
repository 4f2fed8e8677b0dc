"""What a run's marks add up to, in one sentence: how every report on one run begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import listed, many

if TYPE_CHECKING:
    from prompt_evaluator.model.findings import Findings, Mark
    from prompt_evaluator.model.report import RunReport

_NAMED = 3


def run_mark(report: RunReport) -> Mark | None:
    """Bad if the run ended early or missed a bar; a warning if something fails, is bad or lacks scores."""
    found = report.findings
    if found.headline.mark == "bad" or (found.facts and found.facts.missed_bars):
        return "bad"
    errors = bool(found.facts and found.facts.errors)
    if _marked(found, "bad") or errors or found.no_scores or report.failing_cases or found.headline.mark == "warning":
        return "warning"
    return None if _marked(found, "warning") or found.headline.synthetic else "good"


def run_verdict(report: RunReport) -> str:
    """Missed bars or, if there are none, what the marks add up to."""
    found = report.findings
    missed = [note.text for note in found.facts.missed_bars] if found.facts else []
    return " ".join(f"{text.rstrip('.')}." for text in missed) if missed else _judged(report)


def _judged(report: RunReport) -> str:
    found = report.findings
    bad = _marked(found, "bad")
    if found.headline.mark == "bad":
        return "The run did not end as planned."
    if found.no_scores:
        return "There are no scores."
    fail = f"{cases_failing(report)}; look at" if report.failing_cases else "Look at"
    if bad:
        return f"{fail} {_names(bad)}."
    if found.headline.mark == "warning" or (found.facts and found.facts.errors):
        return "Some samples have no score."
    weak = _marked(found, "warning")
    if report.failing_cases:
        return f"{fail} {_names(weak)}." if weak else f"{cases_failing(report)}."
    return f"Nothing is bad; {_names(weak)} could be better." if weak else "Nothing stands out as bad."


def cases_failing(report: RunReport) -> str:
    """How many cases fail."""
    count = report.failing_cases
    return f"{count:,} of {many(report.findings.headline.cases, 'case')} {'fails' if count == 1 else 'fail'}"


def _marked(found: Findings, mark: Mark) -> list[str]:
    """Names of metrics and flags with this mark."""
    metrics = [each.name for each in found.metrics if each.mark == mark]
    return metrics + [each.name for each in found.flags if each.mark == mark]


def _names(names: list[str]) -> str:
    return listed(names if len(names) <= _NAMED else [*names[:_NAMED], f"{len(names) - _NAMED:,} more"])
