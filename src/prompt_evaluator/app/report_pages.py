"""Reports for a browser or a program, without files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.report_writing import ReportRequest, chart_bundle, collect_report, page_bytes
from prompt_evaluator.reports.html.page import page_policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.app.report_writing import PageKind
    from prompt_evaluator.config.loading import Settings


class ReportPage(NamedTuple):
    """A report, piece by piece."""

    pieces: Iterator[bytes]
    policy: str | None
    """What a browser may load and run in it; None if it is not a page."""


def report_page(settings: Settings, runs: Sequence[str], kind: PageKind) -> ReportPage:
    """A report on one run, or on two, the baseline first. Raises before the first piece, as `collect_report`."""
    report = collect_report(settings, ReportRequest(runs=tuple(runs)))
    policy = f"{page_policy(chart_bundle(report))}; frame-ancestors 'none'" if kind == "html" else None
    return ReportPage(page_bytes(report, kind), policy)
