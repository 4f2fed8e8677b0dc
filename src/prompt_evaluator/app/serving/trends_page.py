"""Everything that the page about runs over time says: one metric in full, the others in short."""

from __future__ import annotations

from contextlib import closing, suppress
from shlex import join
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.findings import trend_findings
from prompt_evaluator.app.serving.chart_figures import chart_figure
from prompt_evaluator.app.serving.leaderboard_page import dataset_choices
from prompt_evaluator.app.serving.trend_rows import TrendRow, chart_runs, merged_rows
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.app.trends import read_trends
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.chart import ChartData
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.trend import TrendQuery
from prompt_evaluator.reports.charts import make_chart
from prompt_evaluator.reports.trends_markdown import trend_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.serving.chart_figures import ChartFigure
    from prompt_evaluator.app.trends import Remember
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.board_api import TrendsPageQuery
    from prompt_evaluator.model.trend import MetricFindings, MetricTrend, RunVersion, TrendFindings, Trends

_PROGRAM = ("prompt-evaluator",)
_MOST_VERSIONS = 8
_ON_THE_PAGE = ("more_runs", "models", "other_datasets", "other_judges")
"""Notes that name options of the command; the page has links instead."""


class TrendsPage(NamedTuple):
    """The page."""

    trends: Trends
    found: TrendFindings
    metric: MetricTrend
    """The one that is shown in full."""
    said: MetricFindings
    rows: tuple[TrendRow, ...]
    """The runs, the newest first."""
    chart: ChartFigure
    datasets: tuple[str, ...]
    dataset: str
    """What the address calls the dataset."""
    models: tuple[str, ...]
    notes: tuple[str, ...]
    markdown: str
    command: str


class NoScores(NamedTuple):
    """Runs that have nothing to show."""

    trends: Trends
    datasets: tuple[str, ...]


def trends_page(settings: Settings, query: TrendsPageQuery, remember: Remember) -> TrendsPage | NoScores | None:
    """What the page says; None if there are no finished runs.

    Args:
        settings: Name the store.
        query: What to show.
        remember: As for `read_trends`.

    Raises:
        UnknownNameError: No finished run has this dataset, judge, model or metric.
        ConfigurationError: No run of the dataset has this model.
    """
    asked = _asked(query)
    trends = read_trends(settings, asked, remember)
    if trends is None:
        return None
    datasets = dataset_choices(settings)
    if not trends.metrics:
        return NoScores(trends, datasets)
    found = trend_findings(trends, program=_PROGRAM)
    metric = _chosen(trends, query.metric.strip())
    series = [(trends.version, metric)]
    if query.versions == "all":
        series += _other_versions(settings, asked, trends.others, metric.name, remember)
    rows = _rows(settings, series)
    said, notes = found.metrics[metric.name], [note.text for note in found.notes if note.code not in _ON_THE_PAGE]
    return TrendsPage(
        trends=trends,
        found=found,
        metric=metric,
        said=said,
        rows=tuple(reversed(rows)),
        chart=chart_figure(make_chart(_chart(metric, rows, several=len(series) > 1))),
        datasets=datasets,
        dataset=query.dataset.strip() or trends.version.dataset_name or (trends.version.dataset_hash or ""),
        models=tuple(dict.fromkeys((*trends.models, *([query.model] if query.model else ())))),
        notes=(*(note.text for note in said.notes), *notes),
        markdown=trend_markdown(metric, said, found.heading, [(row.point, row.said) for row in rows]),
        command=_command(query, metric.name),
    )


def _asked(query: TrendsPageQuery) -> TrendQuery:
    """All metrics, so that each can be chosen."""
    dataset, judge, model = (given.strip() or None for given in (query.dataset, query.judge, query.model))
    return TrendQuery(dataset=dataset, judge=judge, model=model, limit=query.limit)


def _chosen(trends: Trends, name: str) -> MetricTrend:
    """The metric that was asked for, or the first one that changed, or the first."""
    if not name:
        return next((metric for metric in trends.metrics if metric.changes), trends.metrics[0])
    found = next((metric for metric in trends.metrics if metric.name == name), None)
    if found is None:
        raise UnknownNameError("metric", name, [metric.name for metric in trends.metrics])
    return found


def _other_versions(
    settings: Settings, asked: TrendQuery, others: Sequence[RunVersion], metric: str, remember: Remember
) -> list[tuple[RunVersion, MetricTrend]]:
    """The same metric of other versions of the dataset, and of other judges. Each is a series of its own."""
    found = []
    for version in others[:_MOST_VERSIONS]:
        judge = Condition("judge_hash", "=", version.judge_hash or "null")
        query = msgspec.structs.replace(
            asked, dataset=version.dataset_hash, judge=None, metric=metric, where=(*asked.where, judge)
        )
        with suppress(ConfigurationError):  # none of its runs has this model or this metric
            trends = read_trends(settings, query, remember)
            found += [(version, each) for each in (trends.metrics if trends else ())]
    return found


def _rows(settings: Settings, series: Sequence[tuple[RunVersion, MetricTrend]]) -> list[TrendRow]:
    run_ids = [point.run_id for _, metric in series for point in metric.points]
    with closing(open_store(settings)) as store:
        return merged_rows(series, store.latest_verdicts(run_ids))


def _chart(metric: MetricTrend, rows: Sequence[TrendRow], *, several: bool) -> ChartData:
    runs = chart_runs(metric, rows, several=several)
    return ChartData(
        kind="trend", title=f"{metric.name} over time", trend=tuple(runs), metric=metric.name, scale=metric.scale
    )


def _command(query: TrendsPageQuery, metric: str) -> str:
    given = (("--dataset", query.dataset), ("--metric", metric), ("--judge", query.judge), ("--model", query.model))
    limit = ["--limit", str(query.limit)] if query.limit != TrendQuery().limit else []
    options = [part for flag, value in given if value.strip() for part in (flag, value.strip())]
    return join([*_PROGRAM, "trends", *options, *limit])
