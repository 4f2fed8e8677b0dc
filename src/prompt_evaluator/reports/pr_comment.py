"""The comment on a pull request: one per dataset, found again by a hidden marker and replaced at every run."""

from __future__ import annotations

import re
from hashlib import sha256

from prompt_evaluator.model.report import CompareReport, RefusedReport, RunReport
from prompt_evaluator.reports.markdown_compare import CompareSections
from prompt_evaluator.reports.markdown_parts import alert, figures, joined, said
from prompt_evaluator.reports.markdown_run import RunSections

_SHORT_HASH = 8
_LONGEST_NAME = 40


def brief(report: RunReport | CompareReport | RefusedReport, name: str | None = None) -> str:
    """The verdict, what to know before reading any number, and the numbers.

    Args:
        report: What it is about.
        name: What to call it; by default, its dataset.
    """
    about = name or _dataset(report)
    match report:
        case RunReport():
            run = RunSections(report)
            return joined(run.verdict(about), run.metrics(), run.flags())
        case CompareReport():
            both = CompareSections(report)
            return joined(both.verdict(about), both.runs(), both.warnings(), both.metrics(), both.flags())
        case RefusedReport():
            headline = f"{about}: the runs were not compared, so there is no verdict."
            return alert("WARNING", headline, [said(report.reason)])


def pr_comment(
    report: RunReport | CompareReport | RefusedReport, *, name: str | None = None, link: str | None = None
) -> str:
    """The whole comment.

    Args:
        report: What it is about.
        name: Tells apart comments on the same dataset, such as one for each prompt.
        link: Where the whole report is.
    """
    version = _version(report)
    more = f"[The whole report]({link}) is among the artifacts of the job." if link else ""
    marker, footer = comment_marker(_dataset(report), name), comment_footer(report.made_at, version)
    return joined(marker, brief(report, name), more, footer) + "\n"


def comment_marker(dataset: str, name: str | None = None) -> str:
    """The first line of the comment, which stays the same from run to run."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{dataset} {name or ''}".lower()).strip("-")[:_LONGEST_NAME].strip("-")
    exact = sha256(f"{dataset}\0{name or ''}".encode("utf-8", "surrogatepass")).hexdigest()[:_SHORT_HASH]
    return f"<!-- prompt-evaluator: {f'{words}-' if words else ''}{exact} -->"


def comment_footer(made_at: str, version: str) -> str:
    """The last line of the comment."""
    return f"<sub>Made by prompt-evaluator {figures(version)} at {said(made_at)}. It is replaced at every run.</sub>"


def _dataset(report: RunReport | CompareReport | RefusedReport) -> str:
    match report:
        case RunReport():
            found = report.facts.dataset_name
        case CompareReport():
            found = report.candidate.facts.dataset_name
        case RefusedReport():
            found = report.dataset_name
    return found or "a dataset"


def _version(report: RunReport | CompareReport | RefusedReport) -> str:
    match report:
        case RunReport():
            return report.reproduction.version
        case CompareReport():
            return report.candidate.version
        case RefusedReport():
            return report.version
