"""What pages of runs show and took long to find out. It is kept for runs that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.serving.case_table import CaseCounts, case_counts
from prompt_evaluator.app.serving.changes import baseline_of
from prompt_evaluator.app.serving.error_groups import ErrorGroup, error_groups
from prompt_evaluator.app.serving.facets import FacetIndex, facet_index
from prompt_evaluator.app.serving.run_page import RunOverview, ShownSlice, run_cells, run_overview, shown_slices
from prompt_evaluator.app.serving.slice_map import SliceMap, slice_map
from prompt_evaluator.server.remembering import Remembered

if TYPE_CHECKING:
    from collections.abc import Hashable

    from prompt_evaluator.app.serving.case_changes import CaseChanges
    from prompt_evaluator.app.stores import ServedSettings
    from prompt_evaluator.model.api import ApiRun
    from prompt_evaluator.model.chart import SliceCell

_SMALL = 2_000
"""Cases. Of larger runs, what needs all cases is asked for by the page once it is shown."""
_Version = tuple[str, str | None]


class RunCache:
    """Values by run and when it ended: a run that is resumed ends anew."""

    def __init__(self, settings: ServedSettings) -> None:
        """Start empty.

        Args:
            settings: With the store.
        """
        self._settings = settings
        self._overviews: Remembered[tuple[_Version, str | None], RunOverview] = Remembered(100)
        self._indexes: Remembered[str, FacetIndex] = Remembered(30)
        self._counts: Remembered[tuple[_Version, str, Hashable], CaseCounts] = Remembered(500)
        self._cells: Remembered[tuple[_Version, tuple[str, ...]], tuple[SliceCell, ...]] = Remembered(100)
        self._maps: Remembered[tuple[_Version, tuple[str, ...]], SliceMap] = Remembered(30)
        self._errors: Remembered[_Version, tuple[ErrorGroup, ...]] = Remembered(100)

    def overview(self, run: ApiRun) -> RunOverview:
        """What is said about a run."""
        key = (_version(run), baseline_of(self._settings, run.id))
        return self._overviews.get(key, lambda: run_overview(self._settings, run), keep=has_ended(run))

    def index(self, run: ApiRun) -> FacetIndex:
        """The groups of its cases, which are the same from the beginning."""
        return self._indexes.get(run.id, lambda: facet_index(self._settings, run.id))

    def counts(self, run: ApiRun, text: str, changes: CaseChanges) -> CaseCounts:
        """How many cases match a filter."""
        index = self.index(run)
        make = lambda: case_counts(self._settings, run, text, index, changes)  # noqa: E731 - passed on
        return self._counts.get((_version(run), text, changes.version), make, keep=has_ended(run))

    def slices(self, run: ApiRun, keys: tuple[str, ...] = ()) -> tuple[ShownSlice, ...]:
        """Groups of its cases against the others."""
        return shown_slices(self._cells_of(run, keys))

    def quick_slices(self, run: ApiRun) -> tuple[ShownSlice, ...] | None:
        """The same if it takes no long time to find out; else None."""
        return self.slices(run) if is_small(run) or (_version(run), ()) in self._cells else None

    def slice_map(self, run: ApiRun, keys: tuple[str, ...] = ()) -> SliceMap:
        """All groups of its cases, by these metadata keys; raises as `slice_cells`."""
        make = lambda: slice_map(run, self._cells_of(run, keys))  # noqa: E731 - passed on
        return self._maps.get((_version(run), keys), make, keep=has_ended(run))

    def errors(self, run: ApiRun) -> tuple[ErrorGroup, ...]:
        """Its errors."""
        return self._errors.get(_version(run), lambda: error_groups(self._settings, run), keep=has_ended(run))

    def _cells_of(self, run: ApiRun, keys: tuple[str, ...] = ()) -> tuple[SliceCell, ...]:
        make = lambda: run_cells(self._settings, run.id, keys)  # noqa: E731 - passed on
        return self._cells.get((_version(run), keys), make, keep=has_ended(run))


def is_small(run: ApiRun) -> bool:
    """Whether all cases of a run can be looked at while somebody waits."""
    return (run.cases or 0) <= _SMALL


def has_ended(run: ApiRun) -> bool:
    """Whether nothing of a run changes any more, unless it is resumed."""
    return run.completed_at is not None and run.status not in ("queued", "running")


def _version(run: ApiRun) -> _Version:
    return run.id, run.completed_at
