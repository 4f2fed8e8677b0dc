"""The table of the cases of a run: a page of rows, and counts of everything that can be filtered by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.app.findings import digits
from prompt_evaluator.app.serving.case_changes import CaseChanges
from prompt_evaluator.app.serving.compare_filter import changed_filter
from prompt_evaluator.app.serving.facets import Facet
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.case_columns import FAILING, FLAGGED, FLAKY, HAS_ERRORS
from prompt_evaluator.model.case_filter import (
    CHANGE_LABELS,
    Change,
    change_word,
    filter_word,
    read_filter,
    toggled,
    words_of,
)
from prompt_evaluator.model.condition import lookup
from prompt_evaluator.model.query import CaseLine, CaseQuery, SampleTick

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from prompt_evaluator.app.serving.facets import FacetIndex
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.api import ApiRun, RunPageQuery

ROWS = 50
_MOST_METRICS = 3
_COLUMNS = ("position", "cost", "latency", "flakiness")
_PROBLEMS = {"failing": FAILING, "flaky": FLAKY, "flagged": FLAGGED, "errors": HAS_ERRORS}
_CHANGED = "changed:"
NOT_KNOWN = CaseChanges.unknown("The run is being compared with its baseline. Try again in a moment.")


class CaseCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases match a filter, and what is wrong with them."""

    cases: int
    problems: dict[str, int]
    flags: dict[str, int]
    facets: tuple[Facet, ...]
    metric: str | None
    """The one that changes are about; None if it is not known what changed."""
    changed: dict[Change, int]
    """Cases that match the rest of the filter, by how they changed."""


class ShownMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric with columns of its own."""

    name: str
    scale: tuple[float, float]
    digits: int
    sort: str
    """What sorts by it."""


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """One case."""

    line: CaseLine
    samples: dict[str, tuple[SampleTick, ...]]
    """By metric; a sample without a score has no value."""
    raised: tuple[str, ...]
    """Flags."""
    values: tuple[str, ...]
    """Of the chosen columns."""


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """A word of the filter that is added or removed by one click."""

    word: str
    count: int
    q: str
    """The filter after the click."""
    on: bool


class ChangeChip(msgspec.Struct, frozen=True, kw_only=True):
    """Cases that changed in one way."""

    change: Change
    label: str
    count: int | None
    """None if it is not known yet."""
    q: str
    """The filter after a click."""
    on: bool


class Suggestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A word for the filter, with how many cases have it."""

    word: str
    count: int | None = None


class CaseTable(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the table."""

    rows: tuple[CaseRow, ...]
    counts: CaseCounts
    first: int
    """The number of the first row, counted from 1 over all pages."""
    next: str | None
    metrics: tuple[ShownMetric, ...]
    sorts: tuple[str, ...]
    """Everything that the table can be sorted by."""
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    """All metadata to choose columns from."""
    chips: tuple[Chip, ...]
    changed: tuple[ChangeChip, ...]
    """Without a baseline there are none."""
    other_words: tuple[Chip, ...]
    """Words of the filter that are no chips, so that each can be removed."""
    facets: tuple[tuple[str, tuple[Chip, ...]], ...]
    suggestions: tuple[Suggestion, ...]
    problem: str | None
    """Why the filter or the order cannot be used; all cases are shown then."""


def measured(run: ApiRun) -> tuple[str, ...]:
    """The names of the run's metrics, in its order."""
    return tuple(run.scores) or run.metrics


def case_counts(settings: Settings, run: ApiRun, text: str, index: FacetIndex, changes: CaseChanges) -> CaseCounts:
    """Count the cases that match a filter; raises `ConfigurationError` if it cannot be read."""
    store = open_store(settings)
    asked = read_filter(text, measured(run))
    found = store.case_states(changes.narrowed(asked.query(run.id), asked))
    every = found if asked.changed is None else store.case_states(asked.query(run.id))
    metric = changes.metric(asked.metric)
    return CaseCounts(
        cases=len(found.positions),
        problems={name: found.count(bit) for name, bit in _PROBLEMS.items()},
        flags=store.count_flags(run.id, found.positions),
        facets=index.facets(found.positions),
        metric=metric,
        changed=changes.counts(metric, every.positions),
    )


class Found(NamedTuple):
    """What takes long to find out about all cases of a large run."""

    counts: Callable[[str], CaseCounts]
    """Counts the cases that match a filter, as `case_counts`."""
    changes: CaseChanges
    """How they changed against the baseline, or `NOT_KNOWN`."""
    order: Callable[[CaseQuery], Sequence[int] | None] = lambda _: None
    """The cases on all pages of a list, in order; None if they may still change."""


def case_table(
    settings: Settings,
    run: ApiRun,
    query: RunPageQuery,
    index: FacetIndex,
    found: Found,
) -> CaseTable:
    """A page of the cases of a run.

    Args:
        settings: Where runs are stored.
        run: The run.
        query: What to show.
        index: The groups of its cases.
        found: What is found out about all of them, or is known already.
    """
    try:
        return _table(settings, run, query, index, found)
    except ConfigurationError as error:
        plain = msgspec.structs.replace(query, q="", sort="position", cursor=None, after=0)
        return msgspec.structs.replace(_table(settings, run, plain, index, found), problem=str(error))


def _table(settings: Settings, run: ApiRun, query: RunPageQuery, index: FacetIndex, found: Found) -> CaseTable:
    store = open_store(settings)
    sort, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    wanted = read_case_query(
        run, query.q, found.changes, sort=sort, descending=descending, limit=ROWS, cursor=query.cursor
    )
    page, counts, plan = store.query_cases(wanted, found.order(wanted)), found.counts(query.q), store.run(run.id).plan
    metrics = _shown(run, plan, sort)
    columns = chosen_columns(query.columns, index.keys)
    names = [metric.name for metric in metrics]
    ticks = store.sample_ticks(run.id, [line.position for line in page.items], names) if names else {}
    words = words_of(query.q)
    return CaseTable(
        rows=tuple(_row(line, ticks.get(line.position, {}), columns) for line in page.items),
        counts=counts,
        first=query.after + 1 if query.cursor else 1,
        next=page.next,
        metrics=metrics,
        sorts=(*(_sort_name(name) for name in measured(run)), *_COLUMNS),
        columns=columns,
        keys=tuple(index.keys),
        chips=tuple(_chip(name, counts.problems[name], query.q) for name in _PROBLEMS),
        changed=tuple(_change_chips(query.q, counts, read_filter(query.q, measured(run)).changed, found.changes)),
        other_words=tuple(
            _chip(word, counts.cases, query.q)
            for word in words
            if word not in _PROBLEMS and not word.startswith(_CHANGED)
        ),
        facets=tuple(
            (facet.key, tuple(_chip(each.word, each.count, query.q) for each in facet.values))
            for facet in counts.facets
        ),
        suggestions=tuple(_suggestions(run, counts, index)),
        problem=None,
    )


def read_case_query(run: ApiRun, text: str, changes: CaseChanges, **more: object) -> CaseQuery:
    """The cases that match a filter; raises `ConfigurationError` if it cannot be read."""
    asked = read_filter(text, measured(run))
    return changes.narrowed(asked.query(run.id, **more), asked)


def _shown(run: ApiRun, plan: RunPlan, sort: str) -> tuple[ShownMetric, ...]:
    """The first metrics, and the one that the table is sorted by."""
    names = list(measured(run))
    sorted_by = sort.removeprefix("metric.")
    first = [name for name in names if name == sorted_by and sort not in _COLUMNS]
    chosen = list(dict.fromkeys((*first, *names)))[:_MOST_METRICS]
    return tuple(_metric(name, plan) for name in sorted(chosen, key=names.index))


def _metric(name: str, plan: RunPlan) -> ShownMetric:
    scale = plan.scale(name)
    return ShownMetric(
        name=name, scale=(scale.low, scale.high), digits=digits((scale.low, scale.high)), sort=_sort_name(name)
    )


def _sort_name(metric: str) -> str:
    return f"metric.{metric}" if metric in _COLUMNS or metric.startswith("-") else metric


def chosen_columns(columns: Sequence[str], keys: Collection[str]) -> tuple[str, ...]:
    """The columns that were asked for: a key may contain a comma."""
    split = [part for text in columns for part in ((text,) if text in keys else text.split(","))]
    return tuple(dict.fromkeys(part.strip() for part in split if part.strip()))


def _row(line: CaseLine, ticks: dict[str, list[SampleTick]], columns: Sequence[str]) -> CaseRow:
    samples = {name: tuple(found) for name, found in ticks.items()}
    for name, scores in line.metrics.items():
        lacking = scores.missing - sum(tick.value is None for tick in samples.get(name, ()))
        samples[name] = (*samples.get(name, ()), *([SampleTick(None, None)] * max(0, lacking)))
    return CaseRow(
        line=line,
        samples=samples,
        raised=tuple(name for name, flag in line.flags.items() if flag.raised),
        values=tuple(shown_value(lookup(line.metadata, key)) for key in columns),
    )


def shown_value(value: Any) -> str:
    """A value of metadata in a cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _chip(word: str, count: int, text: str) -> Chip:
    return Chip(word=word, count=count, q=toggled(text, word), on=word in words_of(text))


def _change_chips(text: str, counts: CaseCounts, chosen: Change | None, changes: CaseChanges) -> Iterator[ChangeChip]:
    if changes is not NOT_KNOWN and not changes.classes:
        return
    for change, label in CHANGE_LABELS.items():
        on = change == chosen
        add = () if on else (change_word(change),)
        q = changed_filter(text, (_CHANGED,), add)
        yield ChangeChip(change=change, label=label, count=counts.changed.get(change), q=q, on=on)


def _suggestions(run: ApiRun, counts: CaseCounts, index: FacetIndex) -> list[Suggestion]:
    found = [Suggestion(word=name, count=counts.problems[name]) for name in _PROBLEMS]
    found += [Suggestion(word=toggled("", f"flag:{name}"), count=count) for name, count in counts.flags.items()]
    found += [Suggestion(word=f"{name}<") for name in measured(run) if " " not in name]
    found += [Suggestion(word=f"error:{kind}") for kind in run.errors]
    found += [
        Suggestion(word=toggled("", each.word), count=each.count) for facet in counts.facets for each in facet.values
    ]
    found += [Suggestion(word=change_word(change), count=count) for change, count in counts.changed.items()]
    found += [Suggestion(word=toggled("", f"metric:{name}")) for name in measured(run) if counts.metric]
    grouped = {facet.key for facet in counts.facets}
    found += [Suggestion(word=f"{key}:") for key in index.keys if key not in grouped and filter_word(key, "x")]
    return [*found, Suggestion(word="text~"), Suggestion(word="status:pending")]
