"""Charts about stored runs, for front ends."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple, get_args

import msgspec

from prompt_evaluator.app.chart_data import (
    comparison_chart_data,
    run_chart_data,
    trend_chart_data,
)
from prompt_evaluator.app.cost_charts import cost_chart_data
from prompt_evaluator.app.run_queries import interrupted_runs
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.chart import Chart, ChartKind, ChartSize, CompareChartKind, HistoryChartKind, RunChartKind
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.query import RunQuery
from prompt_evaluator.reports.chart_files import NO_CHARTS, can_draw, png, specification_file, svg
from prompt_evaluator.reports.charts import make_chart
from prompt_evaluator.store.files import atomic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.chart import ChartData, Theme
    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.store import Store

RUN_KINDS: tuple[RunChartKind, ...] = get_args(RunChartKind)
COMPARE_KINDS: tuple[CompareChartKind, ...] = get_args(CompareChartKind)
HISTORY_KINDS: tuple[HistoryChartKind, ...] = get_args(HistoryChartKind)
_FINISHED = ("completed", "partial")
_OF_ONE_RUN = ("stability", "slices", "trend")
_OF_ONE_METRIC = ("scatter", "trend", "cost")
_MOST_RUNS = {"metrics": 8, "distribution": 8, "flags": 8, "cost": 60}
"""More could not be told apart."""
_HISTORY = 50
_HISTORY_OF_A_REPORT = 20
_SHORTEST_HISTORY = 3
"""Fewer runs make no trend."""
_MOST_SCATTERS = 6
"""In one report: each has up to 2,000 points."""
_OWN_SIZE = ChartSize()
_WRITERS: dict[str, Callable[[Chart, Theme], bytes]] = {
    ".png": png,
    ".svg": lambda chart, theme: svg(chart, theme).encode(),
    ".json": specification_file,
}


class Charts(NamedTuple):
    """The charts of a report."""

    charts: tuple[Chart, ...]
    no_charts: str | None
    """Why there are none, and how to get them."""


class ChartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which chart."""

    kind: ChartKind
    metrics: tuple[str, ...] = ()
    """Only these; empty for all, or for the first one where a chart is about one metric."""
    size: ChartSize = _OWN_SIZE
    allow_different: bool = False
    """See `CompareOptions`."""


def read_chart(settings: Settings, runs: Sequence[str], request: ChartRequest) -> Chart:
    """Make a chart of the runs with these names.

    Raises:
        ConfigurationError: There is no such run, the kind needs another number of runs, or there is nothing to draw.
        UnknownNameError: No run has a metric that was asked for.
        IncomparableError: The runs differ in more than their targets, or have no case in common.
    """
    _check_numbers(request, len(runs))
    made = make_chart(_data(settings, runs, request), request.size)
    if not made.specification:
        raise ConfigurationError(f"There is no chart to draw. {made.alternative}")
    return made


def check_file(path: Path) -> None:
    """Refuse a file that no chart can be written to, before any work.

    Raises:
        ConfigurationError: The extension means no format, or its format needs the extra `charts`.
    """
    if path.suffix.lower() not in _WRITERS:
        page = " Pages are made by `prompt-evaluator report`." if path.suffix.lower() in (".html", ".htm") else ""
        raise ConfigurationError(f"{path}: a chart is a .png, .svg or .json file (its specification).{page}")
    if path.suffix.lower() != ".json" and not can_draw():
        raise ConfigurationError(f"{NO_CHARTS}.")


def write_chart(chart: Chart, path: Path, theme: Theme = "light") -> None:
    """Write a picture, or the specification; the extension of the file decides. It is never half written.

    Raises:
        ConfigurationError: As `check_file`; or the file cannot be written.
    """
    check_file(path)
    content = _WRITERS[path.suffix.lower()](chart, theme)
    try:
        with atomic(path) as file:
            file.write(content)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot write the file: {error.strerror or error}.") from None


def run_charts(store: Store, run_id: str, kinds: Sequence[RunChartKind] = RUN_KINDS) -> Charts:
    """The charts of a report on one run; kinds without numbers are left out."""
    if not can_draw():
        return Charts((), f"{NO_CHARTS}.")
    return _drawable([make_chart(run_chart_data(store, [run_id], kind)) for kind in kinds])


def history_charts(settings: Settings, run_id: str) -> tuple[Chart, ...]:
    """The first metric of a finished run over the runs of its dataset, and against cost; none if there are too few."""
    with closing(open_store(settings)) as store:
        lines = _lines(store, [run_id], _HISTORY_OF_A_REPORT)
    if not can_draw() or lines[0].kind != "evaluation" or lines[0].status not in _FINISHED or not _names(lines[0]):
        return ()
    costs = cost_chart_data(lines)
    data = [costs] if len(costs.costs) > 1 and any(point.cost for point in costs.costs) else []
    if len(lines) >= _SHORTEST_HISTORY:
        with suppress(ConfigurationError):  # the other runs have other metrics, or other cases
            data.insert(0, _trend(settings, lines[0], _names(lines[0])[0], _HISTORY_OF_A_REPORT))
    return _drawable([make_chart(each) for each in data]).charts


def comparison_charts(comparison: Comparison) -> Charts:
    """The charts of a report on two runs: all differences, and the cases on each metric; of many, those that moved."""
    if not can_draw():
        return Charts((), f"{NO_CHARTS}.")
    measured = [name for name, each in comparison.metrics.items() if each.missing is None]
    if len(measured) > _MOST_SCATTERS:
        measured.sort(key=lambda name: comparison.metrics[name].verdict not in ("worse", "better"))
    data = [
        comparison_chart_data(comparison, "differences"),
        *(comparison_chart_data(comparison, "scatter", name) for name in measured[:_MOST_SCATTERS]),
    ]
    return _drawable([make_chart(each) for each in data])


def _drawable(charts: Sequence[Chart]) -> Charts:
    return Charts(tuple(chart for chart in charts if chart.specification), None)


def _check_numbers(request: ChartRequest, runs: int) -> None:
    kind = request.kind
    if kind in COMPARE_KINDS and runs != 2:  # noqa: PLR2004
        raise ConfigurationError(f"A chart of kind {kind} compares two runs: name the baseline and the candidate.")
    if kind in _OF_ONE_RUN and runs != 1:
        others = {"trend": "It finds the other runs of the dataset itself."}
        raise ConfigurationError(f"A chart of kind {kind} is about one run: name one. {others.get(kind, '')}".rstrip())
    if runs > _MOST_RUNS.get(kind, runs):
        raise ConfigurationError(f"A chart of kind {kind} shows at most {_MOST_RUNS[kind]} runs, not {runs}.")
    if kind in _OF_ONE_METRIC and len(request.metrics) > 1:
        raise ConfigurationError(f"A chart of kind {kind} is about one metric: give --metric once.")
    if kind == "flags" and request.metrics:
        raise ConfigurationError("A chart of kind flags has no metrics. Leave out --metric.")


def _data(settings: Settings, runs: Sequence[str], request: ChartRequest) -> ChartData:
    metric = request.metrics[0] if request.metrics else None
    match request.kind:
        case "differences" | "scatter":
            return _compared(settings, runs, request)
        case "trend":
            with closing(open_store(settings)) as store:
                line = store.run_line(runs[0], interrupted=interrupted_runs(store))
            return _trend(settings, line, metric)
        case "cost":
            with closing(open_store(settings)) as store:
                return cost_chart_data(_lines(store, runs), metric)
    with closing(open_store(settings)) as store:
        return run_chart_data(store, runs, request.kind, request.metrics)


def _compared(settings: Settings, runs: Sequence[str], request: ChartRequest) -> ChartData:
    from prompt_evaluator.app.compare import compare_runs  # noqa: PLC0415 - other kinds compare nothing

    (comparison,) = compare_runs(settings, runs, CompareOptions(allow_different=request.allow_different))
    if request.kind == "scatter":
        return comparison_chart_data(comparison, "scatter", request.metrics[0] if request.metrics else None)
    data = comparison_chart_data(comparison, "differences")
    known = [bar.name for bar in data.differences]
    for name in request.metrics:
        if name not in known:
            raise UnknownNameError("metric or flag in both runs", name, known)
    kept = tuple(bar for bar in data.differences if not request.metrics or bar.name in request.metrics)
    return msgspec.structs.replace(data, differences=kept)


def _trend(settings: Settings, line: RunLine, metric: str | None, most: int = _HISTORY) -> ChartData:
    from prompt_evaluator.app.trends import read_trends  # noqa: PLC0415 - other kinds have no history
    from prompt_evaluator.model.trend import TrendQuery  # noqa: PLC0415

    names = _names(line)
    if metric is not None and metric not in names:
        raise UnknownNameError("metric", metric, names)
    judge = Condition("judge_hash", "=", line.judge_hash or "null")
    query = TrendQuery(dataset=line.dataset_hash, where=(judge,), metric=metric or next(iter(names), None), limit=most)
    trends = read_trends(settings, query)
    if trends is None or not trends.metrics:
        raise ConfigurationError(f"Run {line.run_id} has no scores, so it has no trend.")
    return trend_chart_data(trends.metrics[0])


def _names(line: RunLine) -> list[str]:
    """The metrics of a run."""
    return list(line.summary.overall_metric_stats) if line.summary else []


def _lines(store: Store, runs: Sequence[str], most: int = _HISTORY) -> list[RunLine]:
    """The runs; of a single one, also the newest others with the same version of the dataset and the same judge."""
    interrupted = interrupted_runs(store)
    lines = [store.run_line(run, interrupted=interrupted) for run in runs]
    if len(lines) > 1:
        return lines
    same = (
        Condition("dataset_hash", "=", lines[0].dataset_hash or "null"),
        Condition("judge_hash", "=", lines[0].judge_hash or "null"),
    )
    others = store.query_runs(RunQuery(where=same, limit=most), interrupted=interrupted).items
    return [*lines, *(line for line in others if line.run_id != lines[0].run_id and line.summary)]
