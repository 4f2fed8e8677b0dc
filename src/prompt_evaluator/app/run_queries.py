"""Questions about stored runs: lists, pages of cases, one case, runs side by side, the history of a dataset."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.session import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.query import CaseDetail, CaseLine, CaseMeans, CaseQuery, Page, RunLine, RunQuery
    from prompt_evaluator.store import Store


def query_runs(settings: Settings, query: RunQuery) -> Page[RunLine]:
    """A page of runs. A run that says it is running and that nobody works on is `interrupted`, also for conditions."""
    with closing(open_store(settings)) as store:
        return store.query_runs(query, interrupted=interrupted_runs(store))


def run_line(settings: Settings, run_id: str) -> RunLine:
    """One run as it is listed, by its id or the beginning of it."""
    with closing(open_store(settings)) as store:
        return store.run_line(run_id, interrupted=interrupted_runs(store))


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


def _streamed(store: Store, run_ids: Sequence[str], metrics: Sequence[str] | None) -> Iterator[CaseMeans]:
    with closing(store):
        yield from store.case_means(run_ids, metrics)
