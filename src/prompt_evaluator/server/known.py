"""What was found out about runs that have ended, for the pages that compare them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_evaluator.app.serving.compared_pair import ComparedPair, compared_pair
from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.server.remembering import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.stores import ServedSettings
    from prompt_evaluator.model.query import CaseQuery


@dataclass(slots=True)
class KnownRuns:
    """What is kept for the whole life of a server. A run that was resumed has another end, and so another key."""

    pairs: Remembered[tuple[object, ...], ComparedPair | IncomparableError] = field(
        default_factory=lambda: Remembered(8)
    )
    """One of 20,000 cases takes seconds to make and ten megabytes to keep."""
    ids: Remembered[tuple[object, ...], Sequence[str]] = field(default_factory=lambda: Remembered(48))
    """Cases that match a query, so that the next page does not look for them again; a megabyte for 20,000."""


class KnownPairs:
    """Compares two runs and finds their cases, or remembers; for one request."""

    def __init__(self, settings: ServedSettings, known: KnownRuns, *, allow_different: bool) -> None:
        self._settings, self._known, self._allow_different = settings, known, allow_different
        self._ends: dict[str, str | None] = {}

    def pair(self, baseline: str, candidate: str) -> ComparedPair:
        ends = self._end(baseline), self._end(candidate)
        found = self._known.pairs.get(
            (baseline, candidate, *ends, self._allow_different),
            lambda: self._compare(baseline, candidate),
            keep=None not in ends,
        )
        if isinstance(found, IncomparableError):
            raise found.with_traceback(None)
        return found

    def matching(self, query: CaseQuery) -> Sequence[str]:
        end = self._end(query.run_id)
        return self._known.ids.get(
            (query, end), lambda: self._settings.opened.matching_ids(query), keep=end is not None
        )

    def _compare(self, baseline: str, candidate: str) -> ComparedPair | IncomparableError:
        try:
            return compared_pair(self._settings, baseline, candidate, allow_different=self._allow_different)
        except IncomparableError as error:
            return error

    def _end(self, run_id: str) -> str | None:
        """When a run ended, looked up once for a page."""
        if run_id not in self._ends:
            self._ends[run_id] = self._settings.opened.run_line(run_id).ended_at
        return self._ends[run_id]
