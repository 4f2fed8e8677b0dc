"""Tables of the dashboard as files: every row that the page's filter leaves, as CSV, JSONL or Markdown."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.app.serving.case_table import chosen_columns, measured, read_case_query, shown_value
from prompt_evaluator.app.serving.run_answers import answers_of
from prompt_evaluator.app.serving.run_rows import table_row
from prompt_evaluator.app.spreadsheets import csv_line
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.case_filter import PROBLEMS, words_of
from prompt_evaluator.model.condition import lookup
from prompt_evaluator.model.run_filter import read_run_filter
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.markdown_parts import cell, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from prompt_evaluator.app.serving.case_changes import CaseChanges
    from prompt_evaluator.app.serving.error_groups import ErrorGroup, RecentErrors
    from prompt_evaluator.app.serving.run_rows import Problems
    from prompt_evaluator.app.serving.slice_map import SliceMap
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.api import ApiRun
    from prompt_evaluator.model.api_requests import CaseFileQuery, RunFileQuery, TableFormat
    from prompt_evaluator.model.query import CaseLine, CaseQuery

_AT_ONCE = 500
_MOST_RUNS_AT_ONCE = 200
_MOST_IN_MARKDOWN = 200
_PROGRAM = "prompt-evaluator"


class TableFile(NamedTuple):
    """A table without a page around it."""

    titles: tuple[str, ...]
    """No two are equal."""
    rows: Iterable[Sequence[Any]]
    of: str
    """What a row is: `case`."""


def written(made: TableFile, kind: TableFormat) -> Iterator[bytes]:
    """The table, piece by piece. Markdown is for messages, so it has the first rows only and says so."""
    if kind == "csv":
        yield csv_line(made.titles)
        for row in made.rows:
            yield csv_line("" if value is None else value for value in row)
        return
    if kind == "jsonl":
        for row in made.rows:
            yield msgspec.json.encode(dict(zip(made.titles, row, strict=True))) + b"\n"
        return
    rows = list(made.rows)
    shown = [[_text(value) for value in row] for row in rows[:_MOST_IN_MARKDOWN]]
    yield table([cell(title) for title in made.titles], shown).encode() + b"\n"
    if len(rows) > len(shown):
        yield f"\nand {many(len(rows) - len(shown), f'more {made.of}')}\n".encode()


class Which(NamedTuple):
    """What decides about the cases of a run besides a query."""

    changes: CaseChanges
    """How they changed against the baseline, if the filter asks about that."""
    order_of: Callable[[CaseQuery], Sequence[int] | None]
    """Finds their order, if they do not change any more."""


def case_file(settings: Settings, run: ApiRun, query: CaseFileQuery, which: Which) -> TableFile:
    """The cases of a run that match.

    Args:
        settings: Name the store.
        run: The run.
        query: Which cases, in which order, with which metadata.
        which: What else decides about them.

    Raises:
        ConfigurationError: The filter cannot be read.
    """
    sort = {"sort": query.sort.removeprefix("-"), "descending": query.sort.startswith("-")}
    wanted = read_case_query(run, query.q, which.changes, **sort, limit=_AT_ONCE)
    store = open_store(settings)
    order = which.order_of(wanted)
    if order is None:
        order = store.case_order(wanted)
    columns, metrics = chosen_columns(query.columns, ()), measured(run)
    per_metric = (part for name in metrics for part in (name, f"{name} std", f"{name} passes", f"{name} samples"))

    def rows() -> Iterator[Sequence[Any]]:
        page = store.query_cases(wanted, order)
        while True:
            for line in page.items:
                yield _case_row(line, metrics, columns)
            if page.next is None:
                return
            page = store.query_cases(msgspec.structs.replace(wanted, cursor=page.next), order)

    titles = ("case", "input", "status", "errors", *per_metric, "flags", "cost", "latency_ms", *columns)
    return TableFile(_distinct(titles), rows(), "case")


def _distinct(titles: Iterable[str]) -> tuple[str, ...]:
    """Metrics and metadata may be called as other columns are."""
    found: list[str] = []
    for title in titles:
        while title in found:
            title += "_"  # noqa: PLW2901 - until it is free
        found.append(title)
    return tuple(found)


def _case_row(line: CaseLine, metrics: Sequence[str], columns: Sequence[str]) -> list[Any]:
    row: list[Any] = [line.case_id, line.input, line.status, ", ".join(line.error_kinds)]
    for name in metrics:
        score = line.metrics.get(name)
        row += [score.mean, score.std, score.passes, score.count] if score else [None] * 4
    row.append(", ".join(name for name, flag in line.flags.items() if flag.raised))
    return [*row, line.cost, line.latency_ms, *(shown_value(lookup(line.metadata, key)) for key in columns)]


def slice_file(found: SliceMap) -> TableFile:
    """Every cell of a heat map, in its order."""
    titles = ("key", "value", "metric", "mean", "low", "high", "cases", "difference", "p", "verdict", "thin")
    rows = (
        (*(getattr(each.cell, name) for name in _CELL), each.kind or "may be chance", "thin" if each.thin else "")
        for row in found.rows
        for each in row.cells
        if each
    )
    return TableFile(titles, rows, "cell")


_CELL = ("key", "value", "metric", "mean", "low", "high", "cases", "difference", "p_value")


def error_file(groups: Sequence[ErrorGroup]) -> TableFile:
    """The errors of a run."""
    titles = ("kind", "pattern", "samples", "cases", "first", "last", "model", "metric", "example")
    return TableFile(titles, [tuple(getattr(each, name) for name in titles) for each in groups], "reason")


def recent_file(found: RecentErrors) -> TableFile:
    """The errors of recent runs, with a row for each run that has them."""
    titles = ("kind", "pattern", "run", "dataset", "model", "samples", "cases", "first", "last", "example")
    rows = [
        (of.kind, of.pattern, run.id, run.dataset, of.model, of.samples, of.cases, of.first, of.last, of.example)
        for group in found.groups
        for run, of in group.parts
    ]
    return TableFile(titles, rows, "row")


def run_file(settings: Settings, query: RunFileQuery, problems: Problems) -> TableFile:
    """The runs that match, with how many of their cases have problems; raises as `query_runs`."""
    where = read_run_filter(query.q)

    def page(cursor: str | None) -> tuple[list[Sequence[Any]], str | None]:
        lines, answers = answers_of(settings, where, query.sort, _MOST_RUNS_AT_ONCE, cursor)
        counted = problems(lines)
        found = [
            table_row(line, run, query.metric, counted[line.run_id])
            for line, run in zip(lines, answers.runs, strict=True)
        ]
        return [_run_row(row) for row in found], answers.next

    first, following = page(None)

    def rows() -> Iterator[Sequence[Any]]:
        yield from first
        cursor = following
        while cursor is not None:
            more, cursor = page(cursor)
            yield from more

    titles = ("run", "when", "dataset", "target", "prompt", "metric", "mean", "low", "high", "cases", "flaky")
    return TableFile((*titles, "errors", "cost", "duration_ms", "status"), rows(), "run")


def _run_row(row: Any) -> list[Any]:
    run, score = row.run, row.score
    low, high = score.interval if score and score.interval else (None, None)
    means = [row.metric, score.mean, low, high, score.cases] if score else [None] * 5
    before = [run.id, run.created_at, run.dataset, run.model, run.prompt_version]
    return [*before, *means, row.flaky, row.errors, run.total_cost, run.total_duration_ms, run.status]


def case_command(run: ApiRun, q: str) -> str | None:
    """The command that lists the same cases; None if it has no flags for the filter."""
    words = words_of(q)
    if any(word not in PROBLEMS for word in words) or (q.strip() and not words):
        return None
    return shlex.join([_PROGRAM, "runs", "show", run.id, *(f"--{word}" for word in words)])


def run_command(q: str, sort: str) -> str | None:
    """The command that lists the same runs; None if the filter cannot be read."""
    try:
        where = read_run_filter(q)
    except ConfigurationError:
        return None
    conditions = [part for each in where for part in ("--where", str(each))]
    return shlex.join([_PROGRAM, "runs", "list", *conditions, *(["--sort", sort] if sort != "age" else ())])


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else cell(str(value))
