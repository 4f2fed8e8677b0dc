"""How the harness's configurations went over the runs in the history, and where they changed."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.evals.trend_noise import VALUES, errors_across_runs, task_values
from prompt_evaluator.app.trend_changes import Analysis, Series, Stamp, analysed, trend_changes
from prompt_evaluator.app.trend_errors import errors_from_series
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.harness.history import read_history
from prompt_evaluator.model.harness_trend import ConfigTrend, HarnessTrends
from prompt_evaluator.model.trend import LeftOutRun, MetricTrend, TrendDifference, TrendPoint
from prompt_evaluator.reports.trends import harness_findings, left_out_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.app.evals.named_runs import HarnessFolder
    from prompt_evaluator.app.trend_errors import Errors
    from prompt_evaluator.model.harness import HarnessRun, HarnessSummary

DIGITS = {"task_completion_rate": 1, "hallucination_incidents": 0, "latency_avg_ms": 0, "retries_per_task": 2}
_SCALES = {"task_completion_rate": (0.0, 100.0)}
_SHORT = 8


class HarnessTrendQuery(NamedTuple):
    """Which runs, configurations and metrics; None means all."""

    config_ids: Sequence[str] | None = None
    metric: str | None = None
    limit: int = 50
    """The newest so many runs."""


class _Entry(NamedTuple):
    """A run with the summary of one configuration, and the value of one metric in it."""

    run: HarnessRun
    summary: HarnessSummary
    value: float


def harness_trends(folder: HarnessFolder, query: HarnessTrendQuery) -> HarnessTrends | None:
    """Read the trends; None if there are no runs.

    Raises:
        UnknownNameError: No run has this configuration, or there is no such metric.
        ResultsFileError: The history cannot be read.
    """
    history = read_history(folder.results)
    if not len(history):
        return None
    first = max(0, len(history) - query.limit)
    runs = [history.run(at) for at in range(first, len(history))]
    kept, left_out = _comparable(runs)
    names = dict.fromkeys(each.config_id for run in reversed(kept) for each in run.summaries)
    for name in query.config_ids or ():
        if name not in names:
            raise UnknownNameError("configuration", name, names)
    if query.metric is not None and query.metric not in VALUES:
        raise UnknownNameError("metric", query.metric, VALUES)
    metrics = [query.metric] if query.metric else [*VALUES]
    configs = [_config_trend(kept, name, metrics) for name in query.config_ids or names]
    return HarnessTrends(
        runs=len(kept),
        first=kept[0].timestamp,
        last=kept[-1].timestamp,
        more_runs=first > 0,
        configs=tuple(each for each in configs if each.metrics),
        left_out=tuple(left_out),
        notes=tuple(note.text for note in left_out_notes(left_out)),
    )


def _comparable(runs: Sequence[HarnessRun]) -> tuple[list[HarnessRun], list[LeftOutRun]]:
    """Those with the same tasks and samples as the newest complete run, answered by the mock or by models as it was."""
    complete = [run for run in runs if run.status in (None, "completed")]
    newest = (complete or runs)[-1]
    reasons = {at: _why_not(run, newest) for at, run in enumerate(runs)}
    kept = [run for at, run in enumerate(runs) if reasons[at] is None]
    left_out = [
        LeftOutRun(run_id=run.run_id, started_at=run.timestamp, reason=reason)
        for at, run in enumerate(runs)
        if (reason := reasons[at])
    ]
    return kept, left_out


def _why_not(run: HarnessRun, newest: HarnessRun) -> str | None:
    if run is newest:
        return None
    if run.status not in (None, "completed"):
        return f"is {run.status}"
    if run.tasks_hash and newest.tasks_hash and run.tasks_hash != newest.tasks_hash:
        return "has other tasks than the newest run"
    if run.samples != newest.samples:
        return "has another number of samples than the newest run"
    if {run.synthetic, newest.synthetic} == {True, False}:
        return "was answered by the offline mock" if run.synthetic else "was not answered by the offline mock"
    return None


def _config_trend(runs: Iterable[HarnessRun], config_id: str, metrics: Sequence[str]) -> ConfigTrend:
    pairs = [(run, each) for run in runs for each in run.summaries if each.config_id == config_id]
    found = []
    for metric in metrics:
        entries = [
            _Entry(run, each, float(value)) for run, each in pairs if (value := getattr(each, metric)) is not None
        ]
        if entries:
            found.append(_metric_trend(entries, config_id, metric))
    return ConfigTrend(
        config_id=config_id, metrics=tuple(found), findings={each.name: harness_findings(each) for each in found}
    )


def _metric_trend(entries: Sequence[_Entry], config_id: str, metric: str) -> MetricTrend:
    differences = [(), *(_differences(a.run, b.run, config_id) for a, b in pairwise(entries))]
    stamps = [Stamp(each.run.run_id, each.run.timestamp) for each in entries]
    series = Series(stamps, [each.value for each in entries], differences)
    found = analysed(series, _errors(entries, config_id, metric))

    def since(before: int, at: int) -> tuple[TrendDifference, ...]:
        return _differences(entries[before].run, entries[at].run, config_id)

    return MetricTrend(
        name=metric,
        scale=_SCALES.get(metric, (0.0, max(1.0, *series.means))),
        digits=DIGITS[metric],
        lower_is_better=metric != "task_completion_rate",
        points=tuple(_points(entries, series, found)),
        changes=trend_changes(series, found, since),
        noise=found.errors.noise if found.errors else None,
        common_cases=None,
        left_out=(),
        excess_std=math.sqrt(found.excess.variance) if found.excess else None,
        excess_included=found.included,
    )


def _errors(entries: Sequence[_Entry], config_id: str, metric: str) -> Errors | None:
    """The errors of repeating each run with the same tasks. Incidents are a sum, all others are means over tasks."""
    values = [task_values(each.run, config_id, metric) for each in entries]
    found = errors_across_runs(values)
    if found is None:
        return errors_from_series([each.value for each in entries])
    if metric != "hallucination_incidents":
        return found
    sizes = [sum(map(len, of_run.values())) for of_run in values]
    return found._replace(values=[value * size for value, size in zip(found.values, sizes, strict=True)])


def _differences(before: HarnessRun, after: HarnessRun, config_id: str) -> tuple[TrendDifference, ...]:
    found = []
    for what, old, new in (
        ("configuration", before.config_hashes.get(config_id), after.config_hashes.get(config_id)),
        ("model", _model(before, config_id), _model(after, config_id)),
    ):
        if old and new and old != new:
            shown = [each if what == "model" else each.removeprefix("sha256:")[:_SHORT] for each in (old, new)]
            found.append(TrendDifference(what=what, before=old, after=new, text=f"{what} {shown[0]} → {shown[1]}"))
    return tuple(found)


def _model(run: HarnessRun, config_id: str) -> str | None:
    return next((each.model for each in run.evaluations if each.config_id == config_id), None)


def _points(entries: Sequence[_Entry], series: Series, found: Analysis) -> list[TrendPoint]:
    return [
        TrendPoint(
            run_id=each.run.run_id,
            started_at=each.run.timestamp,
            status=each.run.status or "completed",
            mean=each.value,
            error=found.errors.values[at] if found.errors else None,
            cases=each.summary.total_tasks,
            prompt_version=None,
            prompt_hash=None,
            generator_model=_model(each.run, each.summary.config_id),
            synthetic=each.run.synthetic,
            differences=series.differences[at],
            blip=at in found.changes.blips,
        )
        for at, each in enumerate(entries)
    ]
