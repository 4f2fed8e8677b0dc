"""What the charts of a run cost beyond drawing them: 1,000 cases × 5 samples, and two such runs compared.

The reference draws the same finished specifications with bare vl-convert, which is what a script by hand would do.
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

    with closing(Store.open(folder / "store.db")) as store:
        comparison = compare(store.compared(_RUNS[0]), store.compared(_RUNS[1]), CompareOptions())
        return run_charts(store, _RUNS[0]).charts + comparison_charts(comparison).charts


def make_files(folder: Path) -> None:
    """The two runs, and the specifications of their charts."""
    from prompt_evaluator.reports.chart_files import themed  # noqa: PLC0415
    from prompt_evaluator.store import Store  # noqa: PLC0415

    with closing(Store.open(folder / "store.db")) as store:
        for name in _RUNS:
            add_run(store, name, _CASES)
    specifications = [themed(chart, "light") for chart in _charts(folder)]
    (folder / "charts.json").write_text(json.dumps(specifications), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        make_files(Path(made))
        title = f"charts of two runs of {_CASES:,} cases × 5: time over that of drawing alone"
        measure.conclude(measure.ratio(title, f"bench_charts:ours:{made}", f"bench_charts:bare:{made}", at_most=_LIMIT))
