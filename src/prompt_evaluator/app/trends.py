"""How a metric went over the runs of a dataset."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.run_queries import by_columns, interrupted_runs
from prompt_evaluator.app.run_versions import SHORTEST_HASH, alike, of_dataset
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.app.trend_series import StoredRun, metric_trend
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.hints import some_of
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.query import RunQuery
from prompt_evaluator.model.trend import LeftOutRun, Trends
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.trend import MetricTrend, RunVersion, TrendQuery
    from prompt_evaluator.store import Store

    Remember = Callable[[tuple[object, ...], Callable[[], MetricTrend]], MetricTrend]

_FINISHED = (
    Condition("kind", "=", "evaluation"),
    *(Condition("status", "!=", status) for status in ("queued", "running", "interrupted", "aborted", "failed")),
)


def read_trends(settings: Settings, query: TrendQuery, remember: Remember | None = None) -> Trends | None:
    """Read the runs of one version of a dataset and one judge over time; None if there are no finished runs.

    Args:
        settings: Name the store.
        query: Which runs, and which metric.
        remember: Given a key and a function, returns what the function returned for this key before, or calls it.

    Raises:
        UnknownNameError: No finished run has this dataset, judge, model or metric.
    """
    with closing(open_store(settings)) as store:
        interrupted = interrupted_runs(store)
        every = store.run_versions(_FINISHED, interrupted=interrupted)
        if not every:
            return None
        known = of_dataset(settings, every, query.dataset)
        asked = _of_judge(known, query.judge)
        where = (*_FINISHED, *by_columns(RunQuery(where=query.where)).where, *_of_model(store, query.model))
        matching = store.run_versions(where, interrupted=interrupted)
        version = next((found for found in matching if any(_same(found, each) for each in asked)), None)
        if version is None:
            raise ConfigurationError(_nothing_matches(asked[0], query))
        page = store.query_runs(
            RunQuery(where=(*where, *_exactly(version)), limit=query.limit), interrupted=interrupted
        )
        runs = [StoredRun(line, store.run(line.run_id).plan) for line in reversed(page.items)]
        kept = _with_the_same_cases(runs)
        names = _metrics(kept, query.metric)
        others = [each for each in every if not _same(each, version) and each in alike(every, version)]
        return Trends(
            version=version,
            others=tuple(others),
            runs=len(kept),
            more_runs=page.next is not None,
            metrics=tuple(_trend(store, kept, name, query.metric_threshold, remember) for name in names),
            left_out=tuple(_left_out(run) for run in runs if run not in kept),
            models=tuple(run.line.generator_model or "" for run in kept),
        )


def _trend(
    store: Store, runs: Sequence[StoredRun], metric: str, threshold: float, remember: Remember | None
) -> MetricTrend:
    """The trend of a metric. A run that is resumed ends anew, and so has another key."""
    key = (metric, threshold, *((run.line.run_id, run.line.ended_at) for run in runs))
    if remember is None:
        return metric_trend(store, runs, metric, threshold)
    return remember(key, lambda: metric_trend(store, runs, metric, threshold))


def _of_judge(known: Sequence[RunVersion], asked: str | None) -> list[RunVersion]:
    if asked is None:
        return list(known)
    text = asked.removeprefix("sha256:")
    found = [each for each in known if _is_model(each.judge_model, asked)] or [
        each for each in known if len(text) >= SHORTEST_HASH and (each.judge_hash or "").startswith(text)
    ]
    if not found:
        judges = dict.fromkeys(each.judge_model for each in known if each.judge_model)
        if not judges:
            raise ConfigurationError("The runs of this dataset have no judge. Leave out --judge.")
        raise UnknownNameError("judge", asked, judges)
    return found


def _of_model(store: Store, asked: str | None) -> tuple[Condition, ...]:
    if asked is None:
        return ()
    models = [str(model) for model in store.run_values("generator_model")]
    found = next((model for model in models if _is_model(model, asked)), None)
    if found is None:
        raise UnknownNameError("model", asked, sorted(models))
    return (Condition("generator_model", "=", found),)


def _is_model(model: str | None, asked: str) -> bool:
    """Whether this is the model, with or without its provider."""
    return model is not None and (model == asked or model.partition("/")[2] == asked)


def _same(one: RunVersion, other: RunVersion) -> bool:
    return (one.dataset_hash, one.judge_hash) == (other.dataset_hash, other.judge_hash)


def _exactly(version: RunVersion) -> tuple[Condition, ...]:
    return (
        Condition("dataset_hash", "=", version.dataset_hash or "null"),
        Condition("judge_hash", "=", version.judge_hash or "null"),
    )


def _with_the_same_cases(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The runs with the selection of cases that most of them have; of several such, all cases or the newest."""
    alike: dict[str | None, list[StoredRun]] = {}
    for run in reversed(runs):
        alike.setdefault(_selection(run.plan), []).append(run)
    most = max(alike, key=lambda selection: (len(alike[selection]), selection is None))
    return alike[most][::-1]


def _selection(plan: RunPlan) -> str | None:
    """What decides which cases a run has; None for all cases."""
    dataset = plan.dataset
    return None if dataset.selected == dataset.count else repr((dataset.selected, sorted(plan.filters.items())))


def _left_out(run: StoredRun) -> LeftOutRun:
    dataset = run.plan.dataset
    part = f"{dataset.selected:,} of the" if dataset.selected < dataset.count else "all"
    return LeftOutRun(
        run_id=run.line.run_id,
        started_at=run.line.started_at,
        reason=f"has {part} {many(dataset.count, 'case')}",
    )


def _metrics(runs: Sequence[StoredRun], asked: str | None) -> list[str]:
    newest_first = (run.line.summary for run in reversed(runs))
    names = dict.fromkeys(name for summary in newest_first if summary for name in summary.overall_metric_stats)
    if asked is None:
        return list(names)
    if asked not in names:
        raise UnknownNameError("metric", asked, names)
    return [asked]


def _nothing_matches(version: RunVersion, query: TrendQuery) -> str:
    asked = [*map(str, query.where), *([f"model={query.model}"] if query.model else ())]
    of = version.dataset_name or (version.dataset_hash or "")[:8]
    return (
        f"No finished run of dataset {of!r} matches {some_of(asked)}. "
        f"`prompt-evaluator runs list --where dataset={of}` shows its runs."
    )
