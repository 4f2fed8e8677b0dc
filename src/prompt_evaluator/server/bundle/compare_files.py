"""Writes the pages about two compared runs: one for each metric, and one for each case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.serving.compare_rows import PAGE
from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.model.api import ComparePageQuery
from prompt_evaluator.server.bundle.addresses import Compared
from prompt_evaluator.server.bundle.static_pages import split_rows
from prompt_evaluator.server.pages.compare import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prompt_evaluator.app.serving.compare_page import ComparePage
    from prompt_evaluator.server.bundle.static_pages import StaticPages
    from prompt_evaluator.server.routing import Page

Pair = tuple[str, str]


def compared_runs(pages: StaticPages, pair: Pair, folder: str, numbers: Mapping[str, int]) -> Compared:
    """What pages a comparison has.

    Args:
        pages: Know the runs.
        pair: Whole ids, the baseline first.
        folder: Where they are written.
        numbers: The cases of the candidate that have a page.
    """
    try:
        found = pages.site.known(allow_different=False).pair(*pair)
    except IncomparableError:
        return Compared(folder, (), {})
    metrics = [name for name, cases in found.cases.items() if cases.ids]
    common = {case_id for cases in found.cases.values() for case_id in cases.ids}
    return Compared(folder, metrics, {case_id: at for case_id, at in numbers.items() if case_id in common})


class CompareFiles:
    """Writes the comparison of one candidate with the baseline."""

    def __init__(self, pages: StaticPages, run_ids: Sequence[str], compared: Compared) -> None:
        """Take the runs.

        Args:
            pages: Writes them.
            run_ids: Whole ids: the baseline, the candidate, and then the others.
            compared: What pages there are.
        """
        self._pages, self._compared = pages, compared
        self._given: dict[str, Any] = {"a": run_ids[0], "b": tuple(run_ids[1:])}
        self._data = f"../../runs/{run_ids[1]}/data/"

    def write(self) -> None:
        """Write all pages."""
        if not self._compared.metrics:
            self._pages.write(self._page(), f"{self._compared.folder}/index.html")
        for at, metric in enumerate(self._compared.metrics):
            self._write_metric(at, metric)
        for case_id, number in self._compared.cases.items():
            page = self._page(case=case_id)
            self._pages.write(page, f"{self._compared.folder}/cases/{number}.html")

    def _page(self, **more: Any) -> Page:
        page: Page = compare(self._pages.call(ComparePageQuery(**self._given, **more)))
        return page._replace(values={**page.values, "data": None})

    def _write_metric(self, at: int, metric: str) -> None:
        folder = self._compared.folder
        here = f"{folder}/{f'metric-{at + 1}' if at else 'index'}.html"
        lines: list[tuple[Any, ...]] = []
        for number, page in enumerate(self._lists(metric)):
            shown: ComparePage = page.values["page"]
            if not number:
                self._pages.write(page._replace(values={**page.values, "data": f"data/{at}-"}), here)
            rows = self._pages.drawn("compare-rows.html", page.values, here)
            self._pages.write_data(f"{folder}/data/{at}-rows-{number}.js", split_rows(rows))
            listed = shown.cases.rows if shown.cases else ()
            lines += [(row.case_id, row.class_, row.baseline.mean, row.candidate.mean) for row in listed]
        index = {"metric": metric, "run": self._data, "rowsPerFile": PAGE, "cases": lines}
        self._pages.write_data(f"{folder}/data/{at}-cases.js", index)

    def _lists(self, metric: str) -> Iterator[Page]:
        """The page of a metric, with one page of its cases after the other."""
        start: int | None = 0
        while start is not None:
            page = self._page(metric=metric, start=start)
            yield page
            shown: ComparePage = page.values["page"]
            start = shown.cases.next if shown.cases else None
