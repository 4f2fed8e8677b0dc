"""Writes the pages of a run: its own, one for each case, and data that a script filters and sorts by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.serving.case_table import ROWS, measured
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.model.api import RunPageQuery
from prompt_evaluator.model.case_api import CasePageQuery
from prompt_evaluator.model.case_columns import FAILING, FLAGGED, FLAKY, HAS_ERRORS
from prompt_evaluator.model.case_filter import PROBLEMS
from prompt_evaluator.model.query import CaseQuery
from prompt_evaluator.server.bundle.static_pages import split_rows
from prompt_evaluator.server.pages.case import show_case_page
from prompt_evaluator.server.pages.run import show_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.app.serving.case_table import CaseRow, CaseTable
    from prompt_evaluator.model.query import CaseLine
    from prompt_evaluator.server.bundle.static_pages import StaticPages
    from prompt_evaluator.server.routing import Page

TEXTS_PER_FILE = 500
_MOST_TEXT = 20_000
"""Characters of a case that can be searched."""
_HAS_PAGE = 1 << len(PROBLEMS)


def numbered_cases(pages: StaticPages, run_id: str, most: int | None) -> dict[str, int]:
    """The cases of a run that get a page, with their numbers in the dataset: those with problems first."""
    store = pages.site.settings.opened
    everything = CaseQuery(run_id=run_id)
    states, ids = store.case_states(everything).states, store.matching_ids(everything)
    chosen = sorted(range(len(ids)), key=lambda at: _urgency(states[at]))[:most]
    return {ids[at]: at + 1 for at in sorted(chosen)}


def _urgency(state: int) -> tuple[bool, ...]:
    return tuple(not state & bit for bit in (FAILING, HAS_ERRORS, FLAGGED, FLAKY))


class RunFiles:
    """Writes one run, a page of its table after the other, so that memory does not grow with the run."""

    def __init__(self, pages: StaticPages, run_id: str, numbers: dict[str, int]) -> None:
        """Take the run.

        Args:
            pages: Writes them.
            run_id: A whole id.
            numbers: The cases that get a page.
        """
        self._pages, self._numbers = pages, numbers
        self._run = run_answer(pages.site.settings, run_id)
        self._folder = f"runs/{run_id}"
        self._metrics = measured(self._run)
        self._lines: list[bytes] = []
        self._positions: dict[int, int] = {}
        self._texts: list[tuple[str, dict[str, Any]]] = []

    def write(self) -> None:
        """Write everything about the run."""
        known = self._found_out()
        here = f"{self._folder}/index.html"
        first: CaseTable | None = None
        for at, page in enumerate(self._tables()):
            table: CaseTable = page.values["table"]
            if first is None:
                first = table
                self._pages.write(page._replace(values=page.values | known), here)
            rows = self._pages.drawn("run_rows.html", page.values, here)
            self._pages.write_data(f"{self._folder}/data/rows-{at}.js", split_rows(rows))
            for row in table.rows:
                self._take(row, [key for key, _ in first.facets])
        self._write_texts()
        if first:
            self._write_index(first)

    def _found_out(self) -> dict[str, Any]:
        """What the server finds out about a large run only once its page is shown."""
        site, run = self._pages.site, self._run
        if run.status in ("queued", "running"):
            return {}
        return {"changes": site.changes(run.id).run, "slices": site.pages.slices(run)}

    def _tables(self) -> Iterator[Page]:
        """The page of the run, with one page of its cases after the other."""
        query = RunPageQuery()
        while True:
            page: Page = show_run(self._pages.call(query, run_id=self._run.id))
            yield page
            table: CaseTable = page.values["table"]
            if table.next is None:
                return
            query = RunPageQuery(cursor=table.next, after=query.after + len(table.rows))

    def _take(self, row: CaseRow, facets: Sequence[str]) -> None:
        """Keep what a case is filtered by, and write its page."""
        line = row.line
        self._positions[line.position] = len(self._lines)
        self._lines.append(msgspec.json.encode(self._filtered_by(row, facets)))
        answers = self._write_case(line) if line.case_id in self._numbers else ()
        text = "\n".join((line.input or "", *answers))[:_MOST_TEXT]
        self._texts.append((text, line.metadata))
        if len(self._texts) == TEXTS_PER_FILE:
            self._write_texts()

    def _filtered_by(self, row: CaseRow, facets: Sequence[str]) -> list[Any]:
        line = row.line
        marks = sum(
            bool(value) << at for at, value in enumerate((line.failing, line.flaky, line.flagged, line.error_kinds))
        )
        means = [score.mean if (score := line.metrics.get(name)) else None for name in self._metrics]
        groups = [line.metadata.get(key) for key in facets]
        page = _HAS_PAGE if line.case_id in self._numbers else 0
        return [line.case_id, marks | page, means, row.raised, line.error_kinds, line.status, groups]

    def _write_case(self, line: CaseLine) -> list[str]:
        """Write the page of a case; returns its answers."""
        page: Page = show_case_page(self._pages.call(CasePageQuery(), run_id=self._run.id, case_id=line.case_id))
        self._pages.write(page, f"{self._folder}/cases/{self._numbers[line.case_id]}.html")
        return [card.group.answer for card in page.values["page"].cards if card.group.answer]

    def _write_texts(self) -> None:
        """Write the texts of the last cases."""
        if self._texts:
            at = (len(self._lines) - 1) // TEXTS_PER_FILE
            self._pages.write_data(f"{self._folder}/data/texts-{at}.js", self._texts)
            self._texts = []

    def _write_index(self, table: CaseTable) -> None:
        store = self._pages.site.settings.opened
        for at, (sort, descending) in enumerate(_orders(table.sorts)):
            order = store.case_order(CaseQuery(run_id=self._run.id, sort=sort, descending=descending))
            self._pages.write_data(f"{self._folder}/data/order-{at}.js", [self._positions[each] for each in order])
        index = {
            "metrics": self._metrics,
            "facets": [key for key, _ in table.facets],
            "flags": list(table.counts.flags),
            "orders": [f"-{sort}" if descending else sort for sort, descending in _orders(table.sorts)],
            "rowsPerFile": ROWS,
            "textsPerFile": TEXTS_PER_FILE,
            "cases": [msgspec.Raw(line) for line in self._lines],
        }
        self._pages.write_data(f"{self._folder}/data/cases.js", index)


def _orders(sorts: Sequence[str]) -> list[tuple[str, bool]]:
    return [
        (sort, descending)
        for sort in sorts
        for descending in (False, True)
        if (sort, descending) != ("position", False)
    ]
