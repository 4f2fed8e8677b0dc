"""What charts and reports cost beyond drawing: 1,000 cases × 5 samples, and two such runs compared.

The reference draws the same finished specifications with bare vl-convert, which is what a script by hand would do. A
page contains specifications that the browser draws, so a report is measured together with drawing its charts once.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import measure
from bench_compare import add_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.chart import Chart

_CASES = 1_000
_RUNS = ("first", "second")
_LIMIT = 2.0


def ours(folder: str) -> Callable[[], None]:
    """Read the numbers from the store, make the charts, and draw them."""
    from prompt_evaluator.reports.chart_files import svg  # noqa: PLC0415 - each side imports only what it needs

    def draw() -> None:
        for chart in _charts(Path(folder)):
            svg(chart)

    return draw


def reports(folder: str) -> Callable[[], None]:
    """Write both reports as pages, from the store to the file, and draw their charts."""
    import os  # noqa: PLC0415 - each side imports only what it needs

    from prompt_evaluator.app.report_writing import ReportRequest, collect_report, report_files, write_reports  # noqa: PLC0415
    from prompt_evaluator.app.settings import read_settings  # noqa: PLC0415
    from prompt_evaluator.reports.chart_files import svg  # noqa: PLC0415

    os.chdir(folder)
    settings = read_settings()

    def write() -> None:
        for runs in (_RUNS[:1], _RUNS):
            request = ReportRequest(runs=runs)
            report = collect_report(settings, request)
            write_reports(settings, request, report_files([Path("report.html")]), report)
            for chart in report.charts:
                svg(chart)

    return write


def bare(folder: str) -> Callable[[], None]:
    """Draw the specifications of the same charts."""
    import vl_convert  # noqa: PLC0415

    specifications = json.loads((Path(folder) / "charts.json").read_bytes())

    def draw() -> None:
        for specification in specifications:
            vl_convert.vegalite_to_svg(specification)

    return draw


def _charts(folder: Path) -> tuple[Chart, ...]:
    from prompt_evaluator.app.charts import comparison_charts, run_charts  # noqa: PLC0415
    from prompt_evaluator.compare.comparing import compare  # noqa: PLC0415
    from prompt_evaluator.model.comparison import CompareOptions  # noqa: PLC0415
    from prompt_evaluator.store import Store  # noqa: PLC0415

    with closing(Store.open(folder / ".prompt_evaluator" / "store.db")) as store:
        comparison = compare(store.compared(_RUNS[0]), store.compared(_RUNS[1]), CompareOptions())
        return run_charts(store, _RUNS[0]).charts + comparison_charts(comparison).charts


def make_files(folder: Path) -> None:
    """The two runs, and the specifications of their charts."""
    from prompt_evaluator.reports.chart_files import themed  # noqa: PLC0415
    from prompt_evaluator.store import Store  # noqa: PLC0415

    with closing(Store.open(folder / ".prompt_evaluator" / "store.db")) as store:
        for name in _RUNS:
            add_run(store, name, _CASES)
    specifications = [themed(chart, "light") for chart in _charts(folder)]
    (folder / "charts.json").write_text(json.dumps(specifications), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        make_files(Path(made))
        sides = {"charts": "ours", "pages and charts": "reports"}
        measure.conclude(
            *(
                measure.ratio(
                    f"{what} of two runs of {_CASES:,} cases × 5: time over that of drawing alone",
                    f"bench_charts:{side}:{made}",
                    f"bench_charts:bare:{made}",
                    at_most=_LIMIT,
                )
                for what, side in sides.items()
            )
        )
