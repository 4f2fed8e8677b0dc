"""Queries on stored runs: lists, one run, pages of cases, the history of a dataset."""

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
    from collections.abc import Iterable

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.condition import Condition
    from prompt_evaluator.model.query import CaseDetail, CaseLine, CaseQuery, Page, RunLine
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
"""Maps names used in lists and artifacts to columns."""
_AGE = "age"
_KEYED = {"tag": "tags", "tags": "tags", "error": "errors", "errors": "errors"}
_METRIC = "metric."


def query_runs(settings: Settings, query: RunQuery) -> Page[RunLine]:
    """A page of runs. A run with status `running` but no owner is `interrupted`, also in conditions.

    Columns may also have the names used in lists and artifacts. Sorting by `age` puts the newest runs first.

    Raises:
        UnknownNameError: A column or metric is unknown.
    """
    asked = by_columns(query)
    with closing(open_store(settings)) as store:
        page = store.query_runs(asked, interrupted=interrupted_runs(store))
        _refuse_unknown_metrics(store, asked, page)
    return page


def why_none_fits(settings: Settings, query: RunQuery) -> str | None:
    """What looks mistyped in conditions for which no run was found, with what there is instead."""
    with closing(open_store(settings)) as store:
        interrupted = interrupted_runs(store)
        for given, wanted in zip(query.where, by_columns(query).where, strict=True):
            family, dot, key = wanted.field.partition(".")
            keys = store.run_keys(_KEYED[family]) if dot and family in _KEYED else None
            if keys is not None and key not in keys:
                return str(UnknownNameError(family, key, keys))
            values = store.run_values(wanted.field, interrupted=interrupted)
            if values and not any(map(wanted.holds, values)):
                return str(no_such_value(given, "run", values))
    return None


def run_line(settings: Settings, run_id: str) -> RunLine:
    """One run as listed, by its id or the beginning of its id."""
    with closing(open_store(settings)) as store:
        return store.run_line(run_id, interrupted=interrupted_runs(store))


def whole_id(settings: Settings, run_id: str) -> str:
    """The id of the run that a name means."""
    with closing(open_store(settings)) as store:
        return store.full_id(run_id)


def show_run(settings: Settings, run_id: str) -> Outcome:
    """A run's summary as last stored; the last few seconds may be missing if the run is in progress or was killed."""
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


def dataset_history(settings: Settings, dataset: str, *, limit: int = 50) -> list[RunLine]:
    """The newest runs of a dataset, by its name or its hash."""
    with closing(open_store(settings)) as store:
        return store.history(dataset, limit=limit, interrupted=interrupted_runs(store))


def interrupted_runs(store: Store) -> frozenset[str]:
    """Runs with status `running` but no owner."""
    return frozenset(run_id for run_id in store.running() if store.owner(run_id) is None)


def by_columns(query: RunQuery) -> RunQuery:
    """The same query with the column names of the store."""
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
    """Refuse a metric that no recent run has, as a typo; a known metric may still match no runs."""
    names = [wanted.field for wanted in asked.where] if not page.items else []
    if asked.cursor or not (metrics := [name for name in (*names, asked.sort) if name.startswith(_METRIC)]):
        return
    recent = (*page.items, *store.query_runs(RunQuery()).items)
    known = {f"{_METRIC}{name}" for line in recent for name in _metrics(line)}
    for name in metrics:
        if known and name not in known:
            raise UnknownNameError("metric of runs", name, known)


def _metrics(line: RunLine) -> Iterable[str]:
    return line.summary.overall_metric_stats if line.summary else ()


def _from_units(store: Store, record: RunRecord) -> RunResult:
    """Summarize a run that has stored no summary yet, because it is, or was killed, in its first seconds."""
    from prompt_evaluator.app.outcomes import begun_totals  # noqa: PLC0415 - imports the whole pipeline

    return begun_totals(store, record).result(record.status)
