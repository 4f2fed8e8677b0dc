"""Two runs compared, arranged so that pages of cases come quickly: by metric, in order, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from prompt_evaluator.app.compare import compare_runs
from prompt_evaluator.app.comparison_findings import ComparedRuns, findings_of
from prompt_evaluator.model.comparison import CLASSES, CompareOptions
from prompt_evaluator.stats import case_mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.comparison_findings import ComparisonFindings
    from prompt_evaluator.model.query import CaseQuery
    from prompt_evaluator.stats import Interval


class MetricCases(NamedTuple):
    """The cases of one metric in the order of the comparison: the most certain drop first."""

    ids: list[str]
    places: dict[str, int]
    """Where each case is in the order."""
    baseline: npt.NDArray[np.float64]
    candidate: npt.NDArray[np.float64]
    p_values: npt.NDArray[np.float64]
    """NaN if there are too few samples."""
    classes: npt.NDArray[np.int8]
    """Positions in `CLASSES`."""
    intervals: tuple[Interval | None, Interval | None]
    """Of the means of both runs over these cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair:
    """A comparison, what to say about it, and its cases by metric."""

    comparison: Comparison
    findings: ComparisonFindings
    cases: dict[str, MetricCases]
    """By metric, in the order of the runs; also of metrics without a common case."""


class Known(Protocol):
    """What takes long to find out about runs, remembered for those that have ended."""

    def pair(self, baseline: str, candidate: str) -> ComparedPair:
        """The comparison of two runs, by their whole ids; raises as `open_comparison`."""

    def matching(self, query: CaseQuery) -> Sequence[str]:
        """The ids of all cases of a run that match, in the order of the run."""


def compared_pair(settings: Settings, baseline: str, candidate: str, *, allow_different: bool = False) -> ComparedPair:
    """Compare two runs; raises as `open_comparison`.

    Args:
        settings: Name the store.
        baseline: A whole id.
        candidate: A whole id.
        allow_different: Compare the common cases of different datasets, rubrics or judges.
    """
    names = (baseline, candidate)
    options = CompareOptions(allow_different=allow_different)
    (comparison,) = compare_runs(settings, names, options)
    (found,) = findings_of([comparison], ComparedRuns(settings, names, answers_shown=True))
    return ComparedPair(comparison=comparison, findings=found, cases=_by_metric(comparison))


def _by_metric(comparison: Comparison) -> dict[str, MetricCases]:
    rows: dict[str, list[tuple[str, float, float, float, int]]] = {name: [] for name in comparison.metrics}
    known: dict[str, str] = {}  # one text per case, not one per case and metric
    for case in comparison.cases:
        case_id = known.setdefault(case.test_case_id, case.test_case_id)
        p_value = float("nan") if case.p_value is None else case.p_value
        rows[case.metric].append((case_id, case.baseline, case.candidate, p_value, CLASSES.index(case.class_)))
    return {name: _columns(found, comparison.metrics[name].scale) for name, found in rows.items()}


def _columns(rows: list[tuple[str, float, float, float, int]], scale: tuple[float, float]) -> MetricCases:
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    ids = [row[0] for row in rows]
    baseline, candidate, p_values = (np.array([row[at] for row in rows], np.float64) for at in (1, 2, 3))
    return MetricCases(
        ids=ids,
        places={case_id: at for at, case_id in enumerate(ids)},
        baseline=baseline,
        candidate=candidate,
        p_values=p_values,
        classes=np.array([row[4] for row in rows], np.int8),
        intervals=(case_mean_interval(baseline.tolist(), scale), case_mean_interval(candidate.tolist(), scale)),
    )
