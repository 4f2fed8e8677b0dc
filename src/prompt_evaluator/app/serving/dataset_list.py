"""All datasets that a server knows, also broken ones and those that only runs know, and which runs used them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.benchmarks import Benchmark, list_datasets
from prompt_evaluator.app.serving.row_span import RowSpan
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.dataset_api import DatasetUse
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.markdown_parts import cell, figures, joined, said, table
from prompt_evaluator.syntax.source import absolute, stem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from prompt_evaluator.app.dataset_facts import DatasetFacts
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.dataset_api import DatasetsQuery

COMMAND = "prompt-evaluator list datasets"
_PAGE = 100
_MOST_FIELDS = 12


class DatasetRow(msgspec.Struct, frozen=True, kw_only=True):
    """One dataset."""

    name: str
    title: str | None
    origin: str
    """`project`, `configured` or `shipped`; `runs` if only runs know it."""
    cases: int | None
    fields: tuple[str, ...]
    more_fields: int
    problems: int
    error: str | None
    """Why it cannot be used, without the folder."""
    use: DatasetUse | None
    """None if no run has used it."""


class DatasetList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the list."""

    headline: str
    rows: tuple[DatasetRow, ...]
    span: RowSpan
    all: int
    broken: int
    markdown: str
    command: str = COMMAND


def dataset_list(settings: Settings, query: DatasetsQuery, read: Callable[[Path], DatasetFacts]) -> DatasetList:
    """The datasets that match, those with a file first."""
    every = _rows(settings, read)
    broken = [row for row in every if row.error]
    wanted = [row for row in (broken if query.show == "broken" else every) if _fits(row, query.q)]
    shown = wanted[query.start : query.start + _PAGE]
    headline = _headline(every, broken)
    return DatasetList(
        headline=headline,
        rows=tuple(shown),
        span=RowSpan(query.start, len(shown), len(wanted), _PAGE),
        all=len(every),
        broken=len(broken),
        markdown=_markdown(headline, shown),
    )


def without_folder(text: str, path: Path) -> str:
    """A sentence about a file, without where the file is: that is the server's business."""
    for folder in {str(path.parent), absolute(path.parent)}:
        text = text.replace(f"{folder}/", "").replace(folder, "the same folder")
    return text


def _rows(settings: Settings, read: Callable[[Path], DatasetFacts]) -> list[DatasetRow]:
    facts: dict[Path, DatasetFacts] = {}

    def remembered(path: Path) -> DatasetFacts:
        facts[path] = read(path)
        return facts[path]

    found = list_datasets(settings, remembered)
    uses = {use.name: use for use in open_store(settings).dataset_uses()}
    rows = [_row(each, facts.get(each.path), uses.get(stem(each.path))) for each in found]
    known = {stem(each.path) for each in found}
    others = [use for name, use in sorted(uses.items()) if name not in known]
    return rows + [_known_by_runs(use) for use in others]


def _row(found: Benchmark, facts: DatasetFacts | None, use: DatasetUse | None) -> DatasetRow:
    fields = tuple(facts.fields) if facts else ()
    return DatasetRow(
        name=found.name,
        title=found.title,
        origin=found.origin,
        cases=facts.count if facts else None,
        fields=fields[:_MOST_FIELDS],
        more_fields=max(0, len(fields) - _MOST_FIELDS),
        problems=facts.problem_count if facts else 1,
        error=found.error and without_folder(found.error, found.path),
        use=use,
    )


def _known_by_runs(use: DatasetUse) -> DatasetRow:
    nothing = {"title": None, "cases": None, "fields": (), "more_fields": 0, "problems": 0, "error": None}
    return DatasetRow(name=use.name, origin="runs", use=use, **nothing)  # type: ignore[arg-type]  # mixed values


def _fits(row: DatasetRow, text: str) -> bool:
    known = f"{row.name}\n{row.title or ''}\n{row.origin}".casefold()
    return all(word in known for word in text.casefold().split())


def _headline(every: Sequence[DatasetRow], broken: Sequence[DatasetRow]) -> str:
    files = [row for row in every if row.origin != "runs"]
    wrong = f", {len(broken):,} of which cannot be used" if broken else ""
    more = f" Runs know {len(every) - len(files):,} more." if len(every) > len(files) else ""
    return f"{many(len(files), 'dataset')}{wrong}.{more}"


def _markdown(headline: str, rows: Sequence[DatasetRow]) -> str:
    titles = ("Dataset", "Title", "Cases", "Problems", "Runs", "Newest run")
    lines = [
        (
            cell(row.name),
            cell(row.title or ""),
            "" if row.cases is None else figures(f"{row.cases:,}"),
            figures(f"{row.problems:,}"),
            figures(f"{row.use.runs if row.use else 0:,}"),
            cell(f"{row.use.newest_run[:8]} ({row.use.newest_at[:10]})") if row.use else "",
        )
        for row in rows
    ]
    return joined(said(headline), table(titles, lines) if lines else "")
