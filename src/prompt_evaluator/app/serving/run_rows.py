"""The rows of the table of runs: each with its first metric, on a common axis, and how it went before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.findings import digits
from prompt_evaluator.app.run_queries import dataset_history
from prompt_evaluator.app.serving.run_answers import answers_of, by_api_words
from prompt_evaluator.model.api import ApiRun, ApiScore
from prompt_evaluator.model.run_filter import read_run_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.api import ApiStatus, RunTableQuery
    from prompt_evaluator.model.query import CaseProblems, RunLine

    Problems = Callable[[Sequence[RunLine]], Mapping[str, CaseProblems]]

_BEFORE = 8
"""Runs in a sparkline."""
_LOOKED_AT = 60
_UNFINISHED: tuple[ApiStatus, ...] = ("running", "queued")
_MOST_DATASETS = 8


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the table."""

    run: ApiRun
    metric: str | None
    """The one that is shown: the chosen one, or the run's first."""
    score: ApiScore | None
    scale: tuple[float, float]
    digits: int
    flaky: int | None
    """Cases that pass sometimes; None for a run without scores."""
    errors: int
    """Cases with errors of any kind."""
    before: tuple[float, ...]
    """The same metric in the last runs of the same model on this dataset, up to this one."""


class RunTable(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the table of runs."""

    rows: tuple[RunRow, ...]
    unfinished: tuple[ApiRun, ...]
    """Runs that wait or are in progress, on any page."""
    next: str | None
    metrics: tuple[str, ...]
    """All metrics of the page, to choose from."""
    datasets: tuple[str, ...]


def run_table(settings: Settings, query: RunTableQuery, problems: Problems) -> RunTable:
    """The runs that match, and those in progress; raises as `query_runs`.

    Args:
        settings: Where runs are stored.
        query: What to show.
        problems: Counts the cases with problems, or knows how many there are.
    """
    where = read_run_filter(query.q)
    page, answers = answers_of(settings, where, query.sort, query.limit, query.cursor)
    before, counted = _histories(settings, page), problems(page)
    rows = [
        table_row(line, run, query.metric, counted[line.run_id], before)
        for line, run in zip(page, answers.runs, strict=True)
    ]
    return RunTable(
        rows=tuple(rows),
        unfinished=_unfinished(settings, answers.runs),
        next=answers.next,
        metrics=tuple(dict.fromkeys(name for row in rows for name in row.run.scores)),
        datasets=tuple(dict.fromkeys(row.run.dataset for row in rows if row.run.dataset)),
    )


def _unfinished(settings: Settings, shown: Sequence[ApiRun]) -> tuple[ApiRun, ...]:
    """Runs that wait or are in progress, also those that only the rows of the page say so of.

    The store has some of these as interrupted: they are about to go on, and a page that did not follow them would never
    learn that they do.
    """
    found = {run.id: run for run in shown if run.status in _UNFINISHED}
    found |= {run.id: run for run in by_api_words(settings, _UNFINISHED)}
    return tuple(sorted(found.values(), key=lambda run: run.created_at))


def table_row(
    line: RunLine,
    run: ApiRun,
    wanted: str | None,
    counted: CaseProblems,
    before: Mapping[str, Sequence[RunLine]] | None = None,
) -> RunRow:
    """A run with the metric that is asked for, or its first.

    Args:
        line: As the store has it.
        run: As the API has it.
        wanted: The metric to show.
        counted: How many of its cases have problems.
        before: The last runs by dataset.
    """
    stats = line.summary.overall_metric_stats if line.summary else {}
    metric = wanted if wanted in stats else next(iter(stats), None)
    found = stats[metric] if metric else None
    scale = found.scale if found else (0.0, 1.0)
    return RunRow(
        run=run,
        metric=metric,
        score=run.scores[metric] if metric else None,
        scale=scale,
        digits=digits(scale),
        flaky=counted.flaky if stats else None,
        errors=counted.errors,
        before=earlier_means(line, metric, (before or {}).get(line.dataset_name or "", ())),
    )


def _histories(settings: Settings, lines: Iterable[RunLine]) -> dict[str, Sequence[RunLine]]:
    names = list(dict.fromkeys(line.dataset_name for line in lines if line.dataset_name))[:_MOST_DATASETS]
    return {name: dataset_history(settings, name, limit=_LOOKED_AT) for name in names}


def earlier_means(line: RunLine, metric: str | None, history: Sequence[RunLine]) -> tuple[float, ...]:
    """The means of a metric in the last runs of the same model, up to this one, the oldest first."""
    if metric is None:
        return ()
    values = [
        each.summary.overall_metric_stats[metric].mean_of_means
        for each in history
        if each.summary
        and metric in each.summary.overall_metric_stats
        and each.generator_model == line.generator_model
        and each.started_at <= line.started_at
    ]
    return tuple(values[:_BEFORE][::-1])
