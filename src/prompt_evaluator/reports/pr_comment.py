"""The comment on a pull request: one per dataset, found again by a hidden marker and replaced at every run."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.report import CompareReport, RefusedReport, RunReport
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.markdown_compare import CompareSections
from prompt_evaluator.reports.markdown_parts import alert, figures, joined, said, size
from prompt_evaluator.reports.markdown_run import RunSections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_BYTES = 60_000
"""GitHub takes 65,536 characters."""
_TABLE = 6_000
"""Bytes of each table, so that all of them leave room for cases."""
_FOR_COUNTING = 300
"""Bytes kept for saying how many cases are left out."""
_SHORT_HASH = 8
_LONGEST_NAME = 40
_LEFT_OUT = "This part is in the report only: a comment cannot be longer."


def pr_comment(report: RunReport | CompareReport | RefusedReport, *, name: str | None = None) -> str:
    """The whole comment, at most `MOST_BYTES` long: of many cases the first, but always the verdict.

    Args:
        report: What it is about.
        name: Tells apart comments on the same dataset, such as one for each prompt.
    """
    about = name or _dataset(report)
    match report:
        case RunReport():
            made = _of_run(report, about)
        case CompareReport():
            made = _of_comparison(report, about)
        case RefusedReport():
            made = _Comment(_refusal(report, about), [], iter(()), [], report.version)
    marker, footer = comment_marker(_dataset(report), name), comment_footer(report.made_at, made.version)
    kept = size(marker) + size(made.verdict) + size(footer) + _FOR_COUNTING
    before, after = _shortened([made.before, made.after], MOST_BYTES - kept)
    room = MOST_BYTES - kept - _length(before) - _length(after)
    return joined(marker, made.verdict, *before, *_fitting(made.cases, room), *after, footer) + "\n"


def comment_marker(dataset: str, name: str | None = None) -> str:
    """The first line of the comment, which stays the same from run to run."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{dataset} {name or ''}".lower()).strip("-")[:_LONGEST_NAME].strip("-")
    exact = sha256(f"{dataset}\0{name or ''}".encode("utf-8", "surrogatepass")).hexdigest()[:_SHORT_HASH]
    return f"<!-- prompt-evaluator: {f'{words}-' if words else ''}{exact} -->"


class _Comment(NamedTuple):
    verdict: str
    before: list[str]
    """What comes before the cases."""
    cases: Iterator[str]
    after: list[str]
    version: str


def _of_run(report: RunReport, about: str) -> _Comment:
    page = RunSections(report, _TABLE)
    before = [page.metrics(), page.flags(), page.worst()]
    after = [_titled("Errors, cost and samples", page.facts()), _titled("What to do", page.advice(), page.next())]
    return _Comment(page.verdict(about), before, page.cases(), after, report.reproduction.version)


def _of_comparison(report: CompareReport, about: str) -> _Comment:
    page = CompareSections(report, _TABLE)
    changed = _titled("Cases", page.flipped())
    before = [page.runs(), page.warnings(), page.metrics(), page.flags(), changed]
    after = [
        _titled("Slices", page.slices()),
        _titled("Errors, cost and time", page.amounts()),
        _titled("What differs", page.differs()),
        _titled("What to do", page.next()),
    ]
    return _Comment(page.verdict(about), before, page.cases(), after, report.candidate.version)


def _refusal(report: RefusedReport, about: str) -> str:
    return alert("WARNING", f"{about}: the runs were not compared, so there is no verdict.", [said(report.reason)])


def _dataset(report: RunReport | CompareReport | RefusedReport) -> str:
    match report:
        case RunReport():
            found = report.facts.dataset_name
        case CompareReport():
            found = report.candidate.facts.dataset_name
        case RefusedReport():
            found = report.dataset_name
    return found or "a dataset"


def _titled(title: str, *parts: str) -> str:
    text = joined(*parts)
    return f"**{title}**\n\n{text}" if text else ""


def _shortened(groups: list[list[str]], room: int) -> list[list[str]]:
    """The same sections without the longest ones, if they do not fit."""
    while sum(map(_length, groups)) > room:
        longest = max((part for group in groups for part in group), key=size)
        groups = [[_LEFT_OUT if part is longest else part for part in group] for group in groups]
    return groups


def _length(parts: Iterable[str]) -> int:
    return sum(size(part) + 2 for part in parts if part)


def _fitting(cases: Iterator[str], room: int) -> Iterator[str]:
    """As many cases as fit, and how many do not."""
    left = 0
    for each in cases:
        room -= size(each) + 2
        if room < 0 or left:
            left += 1
        else:
            yield each
    if left:
        yield f"{many(left, 'case')} more {'is' if left == 1 else 'are'} in the report: a comment cannot be longer."


def comment_footer(made_at: str, version: str) -> str:
    """The last line of the comment."""
    return f"<sub>Made by prompt-evaluator {figures(version)} at {said(made_at)}. It is replaced at every run.</sub>"
