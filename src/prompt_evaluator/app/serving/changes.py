"""How a run changed against the baseline of its dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.comparison_findings import headline_of
from prompt_evaluator.app.serving.case_changes import CaseChanges
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.comparison import CompareVerdict
from prompt_evaluator.model.findings import Mark

if TYPE_CHECKING:
    from prompt_evaluator.app.serving.compared_pair import ComparedPair
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.errors import IncomparableError


class MetricChange(msgspec.Struct, frozen=True, kw_only=True):
    """One metric against the baseline."""

    difference: float | None
    low: float | None
    high: float | None
    verdict: CompareVerdict


class RunChanges(msgspec.Struct, frozen=True, kw_only=True):
    """A run against a baseline."""

    baseline: str | None
    """The baseline's id; null if none is pinned for the dataset, or if it is the run itself."""
    metrics: dict[str, MetricChange]
    reason: str | None
    """Why the two cannot be compared."""
    headline: str | None = None
    """Whether the run is better than the baseline, as a sentence."""
    mark: Mark | None = None


class FoundChanges(NamedTuple):
    """A run against a baseline, as a whole and case by case."""

    run: RunChanges
    cases: CaseChanges


def baseline_of(settings: Settings, run_id: str) -> str | None:
    """The run that is pinned as the baseline of this run's dataset; None if there is none, or it is this run."""
    store = open_store(settings)
    line = store.run_line(run_id)
    found = next((each.run_id for each in store.baselines() if each.name == line.dataset_name), None)
    return None if found == line.run_id else found


NO_BASELINE = FoundChanges(
    RunChanges(baseline=None, metrics={}, reason=None),
    CaseChanges.unknown(
        "There is no other run to say what changed against. Pin one as the baseline of this dataset, or open Compare."
    ),
)
NOT_ENDED = FoundChanges(
    RunChanges(baseline=None, metrics={}, reason=None),
    CaseChanges.unknown("Which cases changed is known once the run has ended."),
)


def not_comparable(baseline: str, error: IncomparableError) -> FoundChanges:
    """A run that cannot be compared with its baseline."""
    said = str(error)
    return FoundChanges(RunChanges(baseline=baseline, metrics={}, reason=said), CaseChanges.unknown(said))


def changes_of(settings: Settings, run_id: str, baseline: str, pair: ComparedPair) -> FoundChanges:
    """What a comparison with a baseline says about a run; both are whole ids."""
    found = {
        name: MetricChange(difference=each.difference, low=each.low, high=each.high, verdict=each.verdict)
        for name, each in pair.comparison.metrics.items()
    }
    headline, mark = headline_of(pair.comparison)
    said = RunChanges(baseline=baseline, metrics=found, reason=None, headline=headline, mark=mark)
    return FoundChanges(said, CaseChanges.of(pair, open_store(settings).case_positions(run_id)))
