"""What all requests share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.dataset_facts import DatasetFactsCache, read_checked_facts
from prompt_evaluator.app.serving.changes import (
    NO_BASELINE,
    NOT_ENDED,
    FoundChanges,
    baseline_of,
    changes_of,
    not_comparable,
)
from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.model.query import CaseProblems, CaseQuery
from prompt_evaluator.server.auth import find_caller
from prompt_evaluator.server.dataset_cache import DatasetCache
from prompt_evaluator.server.known import KnownPairs, KnownRuns
from prompt_evaluator.server.remembering import Remembered
from prompt_evaluator.server.run_cache import RunCache, is_small

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from prompt_evaluator.app.server_settings import ServerSettings
    from prompt_evaluator.app.stores import ServedSettings
    from prompt_evaluator.model.api import ApiRun
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.trend import MetricTrend
    from prompt_evaluator.server.auth import Caller
    from prompt_evaluator.server.feeds import Feeds


@dataclass(slots=True, kw_only=True)
class Site:
    """A server: its settings, and what it knows between requests."""

    settings: ServedSettings
    """With the store kept open."""
    server: ServerSettings
    needs_token: bool
    feeds: Feeds
    facts: DatasetFactsCache = field(default_factory=lambda: DatasetFactsCache(read_checked_facts))
    """What datasets contain, read again when a file changes."""
    on_queue: Callable[[], None] = lambda: None
    """Called when there may be work: wakes the worker."""
    secure: bool = False
    """Whether people reach it over https."""
    document: dict[str, Any] = field(default_factory=dict)
    """The OpenAPI document."""

    changed: Remembered[tuple[str | None, ...], FoundChanges] = field(default_factory=lambda: Remembered(1_000))
    """How runs that have ended changed against a baseline, by their ids and when they ended."""
    counted: Remembered[tuple[str, str | None, str], CaseProblems] = field(default_factory=lambda: Remembered(1_000))
    """How many cases of a run have problems, by its id and when it ended."""
    pages: RunCache = field(init=False)
    """What the pages of runs show."""

    orders: Remembered[Hashable, Sequence[int]] = field(default_factory=lambda: Remembered(64))
    """The cases of runs that have ended, in the order of a filtered list."""

    remembered: KnownRuns = field(default_factory=KnownRuns)
    """What was found out about pairs of runs."""

    trends: Remembered[tuple[object, ...], MetricTrend] = field(default_factory=lambda: Remembered(200))
    """How metrics went over runs that have ended."""

    datasets: DatasetCache = field(default_factory=DatasetCache)
    """What was found out about files of datasets."""

    def __post_init__(self) -> None:
        self.pages = RunCache(self.settings)

    def changes(self, run_id: str, baseline: str | None = None) -> FoundChanges:
        """How a run changed against a baseline, by default that of its dataset."""
        baseline = baseline or baseline_of(self.settings, run_id)
        if baseline is None or baseline == run_id:
            return NO_BASELINE
        key = self._versions(run_id, baseline)
        return self.changed.get(key, lambda: self._changes(run_id, baseline), keep=None not in key)

    def quick_changes(self, run: ApiRun) -> FoundChanges | None:
        """The same if it takes no long time to find out: of small runs, or if it is known; else None."""
        if run.status in ("queued", "running"):
            return NOT_ENDED
        baseline = baseline_of(self.settings, run.id)
        known = baseline is None or self._versions(run.id, baseline) in self.changed
        return self.changes(run.id, baseline) if known or is_small(run) else None

    def _changes(self, run_id: str, baseline: str) -> FoundChanges:
        try:
            pair = self.known(allow_different=False).pair(baseline, run_id)
        except IncomparableError as error:
            return not_comparable(baseline, error)
        return changes_of(self.settings, run_id, baseline, pair)

    def problems(self, lines: Sequence[RunLine]) -> dict[str, CaseProblems]:
        """How many cases of each run are flaky or have errors."""
        keys = {line.run_id: (line.run_id, line.ended_at, line.status) for line in lines}
        found = {run_id: known for run_id, key in keys.items() if (known := self.counted.find(key))}
        counted = self.settings.opened.case_problems([run_id for run_id in keys if run_id not in found])
        for run_id, counts in counted.items():
            _, ended_at, status = keys[run_id]
            if ended_at is not None and status != "running":
                self.counted.keep(keys[run_id], counts)
        return found | counted

    def _versions(self, *run_ids: str) -> tuple[str | None, ...]:
        """Ids of runs and when they ended: one that is resumed gets another end."""
        return (*run_ids, *(self.settings.opened.run_line(each).ended_at for each in run_ids))

    def order_of(self, query: CaseQuery) -> Sequence[int] | None:
        """The cases on all pages of a list, in order, if its run has ended; else None: it may still change."""
        store = self.settings.opened
        ended_at = store.run_line(query.run_id).ended_at
        if ended_at is None:
            return None
        whole = msgspec.structs.replace(query, limit=CaseQuery(run_id="").limit, cursor=None)
        return self.orders.get((whole, ended_at), lambda: store.case_order(whole))

    def known(self, *, allow_different: bool) -> KnownPairs:
        """Compares runs and finds cases, or remembers."""
        return KnownPairs(self.settings, self.remembered, allow_different=allow_different)

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """Who sent a request with these headers, where a token is needed."""
        return find_caller(self.settings, headers)
