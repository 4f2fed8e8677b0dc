"""Runs as the API answers them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, get_args

import msgspec

from prompt_evaluator.app.run_queries import interrupted_runs, query_runs
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.api import ApiGroup, ApiRun, ApiRunPage, ApiScore, ApiStatus
from prompt_evaluator.model.condition import Condition, condition
from prompt_evaluator.model.query import RunQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.api import RunsQuery
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.result import RunResult
    from prompt_evaluator.store import Store

WORKER_STOPPED = "its worker was stopped"
_INTERRUPTED = "interrupted: its process has ended"


def run_answer(settings: Settings, run_id: str) -> ApiRun:
    """One run, by its id or the beginning of its id."""
    store = open_store(settings)
    return _answers(settings, [store.run_line(run_id, interrupted=interrupted_runs(store))])[0]


def group_answer(settings: Settings, group_id: str, run_ids: Sequence[str]) -> ApiGroup:
    """The runs of a group, in this order."""
    store = open_store(settings)
    gone = interrupted_runs(store)
    lines = [store.run_line(run_id, interrupted=gone) for run_id in run_ids]
    return ApiGroup(group_id=group_id, runs=tuple(_answers(settings, lines)))


def runs_answer(settings: Settings, query: RunsQuery) -> ApiRunPage:
    """A page of runs; raises as `query_runs`."""
    named = (("dataset", query.dataset), ("target", query.model), ("group_id", query.group))
    where = [condition(text) for text in query.where]
    where += [Condition(field, "=", value) for field, value in named if value is not None]
    where += _of_status(query.status) if query.status else ()
    return answers_of(settings, where, query.sort, query.limit, query.cursor)[1]


def answers_of(
    settings: Settings, where: Sequence[Condition], sort: str, limit: int, cursor: str | None
) -> tuple[tuple[RunLine, ...], ApiRunPage]:
    """A page of runs, as the store and as the API have them; raises as `query_runs`."""
    query = RunQuery(
        where=tuple(where), sort=sort.removeprefix("-"), descending=sort.startswith("-"), limit=limit, cursor=cursor
    )
    page = query_runs(settings, query)
    return page.items, ApiRunPage(runs=tuple(_answers(settings, page.items)), next=page.next)


def by_api_words(settings: Settings, statuses: Sequence[ApiStatus], *, limit: int = 20) -> list[ApiRun]:
    """The newest runs with one of these statuses, oldest first."""
    found: list[ApiRun] = []
    for status in statuses:
        page = query_runs(settings, RunQuery(where=tuple(_of_status(status)), limit=limit))
        found += _answers(settings, page.items)
    return sorted(found, key=lambda run: run.created_at)


def api_status(status: str) -> ApiStatus:
    """A status in the words of the artifact: a run whose process died is aborted."""
    return "aborted" if status == "interrupted" else status  # type: ignore[return-value]  # the other words are equal


def _of_status(status: ApiStatus) -> list[Condition]:
    """For `aborted`, also runs whose process has died, which the store calls interrupted."""
    if status != "aborted":
        return [Condition("status", "=", status)]
    return [Condition("status", "!=", other) for other in get_args(ApiStatus) if other != status]


def _answers(settings: Settings, lines: Sequence[RunLine]) -> list[ApiRun]:
    store = open_store(settings)
    pinned: dict[str, list[str]] = {}
    for baseline in store.baselines():
        pinned.setdefault(baseline.run_id, []).append(baseline.name)
    waiting: Mapping[str | None, int] = {}
    lines = _going_on(settings, lines)
    if any(line.status == "queued" for line in lines):
        waiting = {request.run_id: at for at, request in enumerate(open_store(settings).queue("waiting"))}
    asked = store.requested_at([line.run_id for line in lines])
    return [
        _answer(store, line, tuple(pinned.get(line.run_id, ())), waiting.get(line.run_id), asked.get(line.run_id))
        for line in lines
    ]


def _going_on(settings: Settings, lines: Sequence[RunLine]) -> list[RunLine]:
    """The runs; those whose worker has ended and that go on by themselves are queued."""

    def is_lost(line: RunLine) -> bool:
        return line.status == "interrupted" or (line.status == "aborted" and line.stop_reason == WORKER_STOPPED)

    if settings.value("server.resume") != "auto" or not any(map(is_lost, lines)):
        return list(lines)
    store = open_store(settings)
    # Also those that wait: a worker may have found a run lost since the lines were read.
    going_on = {request.run_id for request in (*store.queue("started"), *store.queue("waiting"))}
    return [
        msgspec.structs.replace(line, status="queued", stop_reason=None)
        if is_lost(line) and line.run_id in going_on
        else line
        for line in lines
    ]


def _answer(
    store: Store, line: RunLine, baseline_of: tuple[str, ...], position: int | None, asked_at: str | None
) -> ApiRun:
    summary = line.summary
    scores = _scores(summary) if summary else {}
    tokens = [count for count in (line.input_tokens, line.output_tokens) if count is not None]
    return ApiRun(
        id=line.run_id,
        group_id=line.group_id,
        kind=line.kind,
        dataset=line.dataset_name,
        dataset_hash=f"sha256:{line.dataset_hash}" if line.dataset_hash else None,
        model=line.generator_model,
        judge=line.judge_model,
        metrics=tuple(scores) or _metrics(store.run(line.run_id).plan),
        samples=line.num_samples,
        cases=line.cases,
        status=api_status(line.status),
        stop_reason=_INTERRUPTED if line.status == "interrupted" else line.stop_reason,
        queue_position=position if line.status == "queued" else None,
        summary_scores={name: score.mean for name, score in scores.items()},
        scores=scores,
        flags=_flags(summary),
        errors=line.errors,
        total_cost=line.cost,
        total_tokens=sum(tokens) if tokens else None,
        total_duration_ms=_duration(line),
        created_at=asked_at or line.started_at,
        started_at=None if line.status == "queued" else line.started_at,
        completed_at=line.ended_at,
        prompt_version=line.prompt_version,
        synthetic=bool(line.synthetic),
        tags=line.tags,
        note=line.note,
        baseline_of=baseline_of,
        progress=line.progress,
    )


def _scores(summary: RunResult) -> dict[str, ApiScore]:
    return {
        name: ApiScore(
            mean=stats.mean_of_means, interval=stats.interval, cases=stats.num_cases, pass_rate=stats.pass_rate
        )
        for name, stats in summary.overall_metric_stats.items()
    }


def _flags(summary: RunResult | None) -> dict[str, float]:
    stats = summary.overall_flag_stats if summary else {}
    return {name: each.true_proportion for name, each in stats.items() if each.true_proportion is not None}


def _metrics(plan: RunPlan) -> tuple[str, ...]:
    """What a run measures that has no score yet."""
    criteria = plan.rubric.metrics if plan.rubric else ()
    return (*(criterion.name for criterion in criteria), *(use.key for use in plan.metrics))


def _duration(line: RunLine) -> float | None:
    """From the start until the end, or until now; None for a run that waits or was stopped."""
    if line.ended_at is None and line.status != "running":
        return None
    end = datetime.fromisoformat(line.ended_at) if line.ended_at else datetime.now(UTC)
    return round((end - datetime.fromisoformat(line.started_at)).total_seconds() * 1_000)
