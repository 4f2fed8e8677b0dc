"""Questions about stored runs: lists, one run, pages of cases, runs side by side, the history of a dataset."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.condition import no_such_value
from prompt_evaluator.model.outcome import Outcome
from prompt_evaluator.model.query import RunQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.condition import Condition
    from prompt_evaluator.model.query import CaseDetail, CaseLine, CaseMeans, CaseQuery, Page, RunLine
    from prompt_evaluator.model.result import RunResult
    from prompt_evaluator.store import Store

OTHER_NAMES = {
    "run": "run_id",
    "dataset": "dataset_name",
    "target": "generator_model",
    "judge": "judge_model",
    "prompt": "prompt_version",
    "prompt_version_id": "prompt_version",
    "timestamp_start": "started_at",
    "timestamp_end": "ended_at",
    "dataset_selected": "cases",
    "num_samples_per_case": "num_samples",
    "run_notes": "note",
}
"""Of columns, as lists and artifacts call them."""
_AGE = "age"
_KEYED = {"tag": "tags", "tags": "tags", "error": "errors", "errors": "errors"}
_METRIC = "metric."


def query_runs(settings: Settings, query: RunQuery) -> Page[RunLine]:
    """A page of runs. A run that says it is running and that nobody works on is `interrupted`, also for conditions.

    Columns may also be called as lists and artifacts do; to sort by `age` is to sort by the start, the newest first.

    Raises:
        UnknownNameError: No run has this column, or none has this metric.
    """
    asked = _by_columns(query)
    with closing(open_store(settings)) as store:
        page = store.query_runs(asked, interrupted=interrupted_runs(store))
        _refuse_unknown_metrics(store, asked, page)
    return page


def why_none_fits(settings: Settings, query: RunQuery) -> str | None:
    """What looks mistyped in conditions for which no run was found, with what there is instead."""
    with closing(open_store(settings)) as store:
        interrupted = interrupted_runs(store)
        for given, wanted in zip(query.where, _by_columns(query).where, strict=True):
            family, dot, key = wanted.field.partition(".")
            keys = store.run_keys(_KEYED[family]) if dot and family in _KEYED else None
            if keys is not None and key not in keys:
                return str(UnknownNameError(family, key, keys))
            values = store.run_values(wanted.field, interrupted=interrupted)
            if values and not any(map(wanted.holds, values)):
                return str(no_such_value(given, "run", values))
    return None


def run_line(settings: Settings, run_id: str) -> RunLine:
    """One run as it is listed, by its id or the beginning of it."""
    with closing(open_store(settings)) as store:
        return store.run_line(run_id, interrupted=interrupted_runs(store))


def show_run(settings: Settings, run_id: str) -> Outcome:
    """A run's summary as it was last kept; of a run that is going on or was killed, a few seconds may be missing."""
    with closing(open_store(settings)) as store:
        return stored_outcome(store, run_id)


def stored_outcome(store: Store, run_id: str) -> Outcome:
    record = store.run(run_id)
    if record.status == "running" and store.owner(record.plan.run_id) is None:
        record = msgspec.structs.replace(record, status="aborted")
    return Outcome(record, store.run_line(record.plan.run_id).summary or _from_units(store, record))


def query_cases(settings: Settings, query: CaseQuery) -> Page[CaseLine]:
    """A page of the cases of a run."""
    with closing(open_store(settings)) as store:
        return store.query_cases(query)


def case_detail(settings: Settings, run_id: str, case_id: str) -> CaseDetail:
    """One case of a run with its samples, scores and reasons."""
    with closing(open_store(settings)) as store:
        return store.case_detail(run_id, case_id)


def case_means(settings: Settings, run_ids: Sequence[str], metrics: Sequence[str] | None = None) -> Iterator[CaseMeans]:
    """The cases of several runs side by side, as a stream. An unknown run is refused at once."""
    store = open_store(settings)
    try:
        full = [store.full_id(run_id) for run_id in run_ids]
    except BaseException:
        store.close()
        raise
    return _streamed(store, full, metrics)


def dataset_history(settings: Settings, dataset: str, *, limit: int = 50) -> list[RunLine]:
    """The newest runs of a dataset, by its name or its hash."""
    with closing(open_store(settings)) as store:
        return store.history(dataset, limit=limit, interrupted=interrupted_runs(store))


def interrupted_runs(store: Store) -> frozenset[str]:
    """The runs that say they are running and have no owner."""
    return frozenset(run_id for run_id in store.running() if store.owner(run_id) is None)


def _by_columns(query: RunQuery) -> RunQuery:
    """The same question in the words of the store."""
    sort, descending = OTHER_NAMES.get(query.sort, query.sort), query.descending
    if sort == _AGE:
        sort, descending = "started_at", not descending
    where = tuple(map(_by_column, query.where))
    return msgspec.structs.replace(query, sort=sort, descending=descending, where=where)


def _by_column(wanted: Condition) -> Condition:
    if wanted.field == _AGE:
        raise UnknownNameError("column to compare", _AGE, ["started_at"])
    field = OTHER_NAMES.get(wanted.field, wanted.field)
    value = wanted.value.removeprefix("sha256:") if field.endswith("_hash") else wanted.value
    return msgspec.structs.replace(wanted, field=field, value=value)


def _refuse_unknown_metrics(store: Store, asked: RunQuery, page: Page[RunLine]) -> None:
    """A metric that no late run has is mistyped; one that some run has may well give an empty list."""
    names = [wanted.field for wanted in asked.where] if not page.items else []
    if asked.cursor or not (metrics := [name for name in (*names, asked.sort) if name.startswith(_METRIC)]):
        return
    late = (*page.items, *store.query_runs(RunQuery()).items)
    known = {f"{_METRIC}{name}" for line in late for name in _metrics(line)}
    for name in metrics:
        if known and name not in known:
            raise UnknownNameError("metric of runs", name, known)


def _metrics(line: RunLine) -> Iterable[str]:
    return line.summary.overall_metric_stats if line.summary else ()


def _from_units(store: Store, record: RunRecord) -> RunResult:
    """Of a run in its first seconds, or killed in them: it has kept no summary yet, and there is little to count."""
    from prompt_evaluator.app.outcomes import begun_totals  # noqa: PLC0415 - loads what runs are made with

    return begun_totals(store, record).result(record.status)


def _streamed(store: Store, run_ids: Sequence[str], metrics: Sequence[str] | None) -> Iterator[CaseMeans]:
    with closing(store):
        yield from store.case_means(run_ids, metrics)
