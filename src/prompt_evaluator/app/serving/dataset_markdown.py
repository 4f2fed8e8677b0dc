"""The page of a dataset as Markdown, for a ticket or a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.reports.markdown_parts import cell, figures, first_rows, joined, left_out, said, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.serving.dataset_page import DatasetPage

_ROOM = 4_000
"""Bytes of each table."""


def dataset_markdown(page: DatasetPage) -> str:
    """The headline, problems, and versions with their runs."""
    return joined(
        f"**{said(page.name)}**: {said(page.headline)}",
        _problems(page),
        _versions(page),
    )


def _problems(page: DatasetPage) -> str:
    rows = [
        (figures(f"{each.line:,}" if each.line is not None else ""), cell(each.what), cell(each.advice))
        for each in page.facts.problems
    ]
    return _cut(("Line", "Problem", "How to fix it"), rows, page.facts.problem_count - len(rows), "problem")


def _versions(page: DatasetPage) -> str:
    rows = [
        (
            cell((each.use.hash or "")[:12]),
            "now" if each.is_now else "",
            figures(f"{each.use.runs:,}"),
            cell(f"{each.use.newest_run[:8]} ({each.use.newest_at[:10]})"),
        )
        for each in page.versions
    ]
    return _cut(("Content (sha256)", "", "Runs", "Newest run"), rows, 0, "version")


def _cut(titles: Sequence[str], rows: Sequence[Sequence[str]], more: int, thing: str) -> str:
    kept, cut = first_rows(rows, _ROOM)
    missing = cut + more
    return joined(table(titles, kept) if kept else "", left_out(missing, thing) if missing else "")
