"""The cases of a comparison that one address asks for: filtered, counted, listed, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.serving.compare_case import Chosen, compared_case
from prompt_evaluator.app.serving.compare_filter import kept_cases, read_pair_filter
from prompt_evaluator.app.serving.compare_matrix import changed_cases, matrix
from prompt_evaluator.app.serving.compare_rows import case_page, matching_places
from prompt_evaluator.app.serving.compare_scatter import scatter
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.case_filter import CHANGE_LABELS, change_word
from prompt_evaluator.model.comparison import CLASSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.serving.compare_case import ComparedCaseView
    from prompt_evaluator.app.serving.compare_filter import Kept, PairFilter
    from prompt_evaluator.app.serving.compare_matrix import Matrix
    from prompt_evaluator.app.serving.compare_rows import CasePage
    from prompt_evaluator.app.serving.compare_scatter import Scatter
    from prompt_evaluator.app.serving.compared_pair import ComparedPair, Known
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.api import ComparePageQuery
    from prompt_evaluator.model.comparison import CaseClass
    from prompt_evaluator.ports import ComparedRun


class Chip(NamedTuple):
    """How many cases changed in one way."""

    class_: CaseClass
    word: str
    number: int
    """Those that match the rest of the filter."""
    of: int
    """All of them."""

    @property
    def filter(self) -> str:
        """The word that leaves only them."""
        return change_word(self.class_)


class Place(NamedTuple):
    """Where a case is in the filtered list."""

    number: int
    """Counted from 1."""
    of: int
    previous: str | None
    next: str | None


class Selection:
    """The cases of a comparison that one address asks for."""

    def __init__(self, settings: Settings, run_ids: Sequence[str], query: ComparePageQuery, known: Known) -> None:
        """Read the filter; raises as `open_comparison`.

        Args:
            settings: Name the store.
            run_ids: Whole ids, the baseline first.
            query: What is asked for.
            known: Remembers comparisons.
        """
        self._settings, self._run_ids, self._query, self._known = settings, run_ids, query, known
        self._pair = pair = known.pair(run_ids[0], run_ids[1])
        self.problem: str | None = None
        metrics = pair.comparison.metrics
        self.wanted = read_pair_filter("", metrics)
        try:
            self.wanted = read_pair_filter(query.q, metrics)
            self.metric = self._metric(self.wanted)
            self._kept = self._keep()
        except ConfigurationError as error:
            self.problem = str(error)
            self.wanted = read_pair_filter("", metrics)
            self.metric = self._metric(self.wanted)
            self._kept = self._keep()
        self.scale = metrics[self.metric].scale if self.metric else (0.0, 1.0)

    def _metric(self, wanted: PairFilter) -> str | None:
        """The one that is asked for, or the first that was measured in both."""
        metrics = self._pair.comparison.metrics
        for name in (wanted.cases.metric, self._query.metric):
            if name in metrics:
                return name
            if name:
                raise ConfigurationError(f"There is no metric {name!r}. Known: {', '.join(metrics)}.")
        measured = (name for name, each in metrics.items() if each.cases)
        return next(measured, next(iter(metrics), None))

    def _keep(self) -> Kept | None:
        if self.metric is None:
            return None
        return kept_cases(self._known, self._run_ids[1], self.wanted, self._pair.cases[self.metric])

    def _runs(self) -> tuple[ComparedRun, ComparedRun]:
        store = open_store(self._settings)
        return store.compared(self._run_ids[0]), store.compared(self._run_ids[1])

    def chips(self) -> tuple[Chip, ...]:
        if self.metric is None or self._kept is None:
            return ()
        classes = self._pair.cases[self.metric].classes[self._kept.without_change]
        whole = self._pair.comparison.metrics[self.metric].case_classes
        return tuple(
            Chip(name, CHANGE_LABELS[name], int((classes == at).sum()), whole[name]) for at, name in enumerate(CLASSES)
        )

    def _places(self) -> list[int]:
        if self.metric is None or self._kept is None:
            return []
        return matching_places(self._kept, self.wanted.cases.changed)

    def cases(self) -> CasePage | None:
        if self.metric is None:
            return None
        cases = self._pair.cases[self.metric]
        return case_page(cases, self._places(), self._query.start, self._runs(), self.metric)

    def scatter(self) -> Scatter | None:
        if self.metric is None or self._kept is None or not self._pair.cases[self.metric].ids:
            return None
        return scatter(self._pair.cases[self.metric], self._kept.all, self.scale, self.wanted.bounds)

    def case(self) -> ComparedCaseView:
        chosen = Chosen(self._query.sample_a, self._query.sample_b)
        return compared_case(self._pair, self._runs(), self._query.case, chosen)

    def place(self) -> Place | None:
        """None if the case is not in the filtered list."""
        places = self._places()
        if self.metric is None:
            return None
        cases = self._pair.cases[self.metric]
        own = cases.places.get(self._query.case)
        if own is None or own not in places:
            return None
        at = places.index(own)
        before, after = (cases.ids[places[near]] if 0 <= near < len(places) else None for near in (at - 1, at + 1))
        return Place(at + 1, len(places), before, after)

    def matrix(self, pairs: Sequence[ComparedPair]) -> Matrix:
        return matrix(
            self._settings,
            self._known,
            self._run_ids,
            self.metric,
            self.wanted.cases if self.wanted.asks_store else None,
            changed=changed_cases(pairs, self.metric),
            show=self._query.show,
            start=self._query.start,
        )
