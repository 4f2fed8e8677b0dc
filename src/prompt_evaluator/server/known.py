"""What was found out about runs that have ended, for the pages that compare them."""

from __future__ import annotations

from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_evaluator.app.serving.compared_pair import ComparedPair, compared_pair
from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.server.making import Making
from prompt_evaluator.server.remembering import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.stores import ServedSettings
    from prompt_evaluator.model.query import CaseQuery

    Made = ComparedPair | IncomparableError


@dataclass(slots=True)
class KnownRuns:
    """What is kept for the whole life of a server. A run that was resumed has another end, and so another key."""

    pairs: Remembered[tuple[object, ...], Made] = field(default_factory=lambda: Remembered(8))
    """One of 20,000 cases takes seconds to make and ten megabytes to keep."""
    making: Making[tuple[object, ...], Made] = field(default_factory=Making)
    ids: Remembered[tuple[object, ...], Sequence[str]] = field(default_factory=lambda: Remembered(48))
    """Cases that match a query, so that the next page does not look for them again; a megabyte for 20,000."""


class KnownPairs:
    """Compares two runs and finds their cases, or remembers; for one request."""

    def __init__(self, settings: ServedSettings, known: KnownRuns, *, allow_different: bool) -> None:
        self._settings, self._known, self._allow_different = settings, known, allow_different
        self._ends: dict[str, str | None] = {}
        self._pairs: dict[tuple[object, ...], Future[Made]] = {}

    def pair(self, baseline: str, candidate: str) -> ComparedPair:
        found = self._begun(baseline, candidate).result()
        self._known.making.take(self._key(baseline, candidate))
        if isinstance(found, IncomparableError):
            raise found.with_traceback(None)
        return found

    def is_ready(self, baseline: str, candidate: str, *, patience: float) -> bool:
        """Whether two runs are compared within so many seconds; if not, that goes on."""
        begun = self._begun(baseline, candidate)
        return bool(wait([begun], patience).done)

    def matching(self, query: CaseQuery) -> Sequence[str]:
        end = self._end(query.run_id)
        return self._known.ids.get(
            (query, end), lambda: self._settings.opened.matching_ids(query), keep=end is not None
        )

    def _begun(self, baseline: str, candidate: str) -> Future[Made]:
        """The comparison of two runs, which may be in the making."""
        key = self._key(baseline, candidate)
        if key not in self._pairs:
            known = self._known.pairs.find(key)
            if known is None:
                self._pairs[key] = self._known.making.begun(key, lambda: self._make(key, baseline, candidate))
            else:
                self._pairs[key] = Future()
                self._pairs[key].set_result(known)
        return self._pairs[key]

    def _make(self, key: tuple[object, ...], baseline: str, candidate: str) -> Made:
        has_ended = bool(self._end(baseline) and self._end(candidate))
        return self._known.pairs.get(key, lambda: self._compare(baseline, candidate), keep=has_ended)

    def _compare(self, baseline: str, candidate: str) -> Made:
        try:
            return compared_pair(self._settings, baseline, candidate, allow_different=self._allow_different)
        except IncomparableError as error:
            return error

    def _key(self, baseline: str, candidate: str) -> tuple[object, ...]:
        return (baseline, candidate, self._end(baseline), self._end(candidate), self._allow_different)

    def _end(self, run_id: str) -> str | None:
        """When a run ended, looked up once for a page."""
        if run_id not in self._ends:
            self._ends[run_id] = self._settings.opened.run_line(run_id).ended_at
        return self._ends[run_id]
