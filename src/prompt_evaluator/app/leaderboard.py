"""Which model is best on a dataset? Ranks the newest comparable runs."""

from __future__ import annotations

from contextlib import closing
from pathlib import PurePath
from typing import TYPE_CHECKING

from prompt_evaluator.app.findings import digits
from prompt_evaluator.app.leaderboard_groups import CASE_SHARE, Group, best_group, groups, why_left_out
from prompt_evaluator.app.run_versions import of_dataset
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.leaderboard import DatasetBoard, Leaderboard, RankedRun, RankedScore, UnrankedRun
from prompt_evaluator.model.wording import many
from prompt_evaluator.stats.ranking import interval_ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.leaderboard import LeaderboardQuery
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.result import OverallMetric
    from prompt_evaluator.store import Store
    from prompt_evaluator.store.leaderboard_query import FinishedRun

_LOOKED_AT = 1_000
FINISHED = (
    Condition("kind", "=", "evaluation"),
    *(Condition("status", "!=", status) for status in ("running", "queued", "aborted", "failed")),
)
"""Runs that can be ranked."""


def leaderboard(settings: Settings, query: LeaderboardQuery) -> Leaderboard:
    """Rank models with their prompts on each dataset, by one metric, among runs that can be compared.

    Comparable runs have the same version of the dataset, the same cases of it, and the same judge, rubric and metrics.
    Of several such groups of runs of a dataset, the one with the most models counts, or the newest of those; runs in
    the others are left out, with the reason. Of each model with each prompt, the newest run counts. A run's rank is 1
    plus the number of runs whose 95 % interval lies above its own, so runs that cannot be told apart share a rank.

    Raises:
        UnknownNameError: No finished run has this dataset, or this metric.
    """
    with closing(open_store(settings)) as store:
        hashes = _hashes(settings, store, query.dataset)
        found = store.finished_runs(hashes, limit=_LOOKED_AT + 1)
        runs = found[:_LOOKED_AT]
        boards = [_Board(store, of_one, query.metric) for of_one in _by_dataset(runs)]
        if query.metric is not None and runs and not any(board.metric for board in boards):
            raise UnknownNameError("metric", query.metric, {name for board in boards for name in board.known})
        return Leaderboard(
            boards=tuple(board.read(query.limit) for board in boards if board.metric),
            looked_at=len(runs),
            more_runs=len(found) > _LOOKED_AT,
        )


def _hashes(settings: Settings, store: Store, dataset: str | None) -> list[str] | None:
    if dataset is None:
        return None
    versions = of_dataset(settings, store.run_versions(FINISHED), dataset)
    return sorted({version.dataset_hash for version in versions if version.dataset_hash})


def _by_dataset(runs: Iterable[FinishedRun]) -> list[list[FinishedRun]]:
    """The runs of each dataset, by its name; one without a file has only its hash."""
    found: dict[tuple[str, str | None], list[FinishedRun]] = {}
    for run in runs:
        key = ("name", run.dataset_name) if run.dataset_name else ("hash", run.dataset_hash)
        found.setdefault(key, []).append(run)
    return list(found.values())


class _Board:
    """The runs of one dataset: those to rank, and those left out."""

    def __init__(self, store: Store, runs: Sequence[FinishedRun], metric: str | None) -> None:
        self._store = store
        every = groups(runs)
        lines = store.run_lines([run.run_id for group in every for run in group.newest])
        self.known = list(dict.fromkeys(name for line in lines.values() for name in _stats(line)))
        with_metric = [group for group in every if any(_has(lines[run.run_id], metric) for run in group.newest)]
        self._group = best_group(with_metric) if with_metric else None
        self._others = [group for group in every if group is not self._group]
        self._lines = lines
        self.metric = self._metric(self._group, metric) if self._group else None

    def _metric(self, group: Group, asked: str | None) -> str:
        return asked or next(name for run in group.newest for name in _stats(self._lines[run.run_id]))

    def read(self, limit: int) -> DatasetBoard:
        assert self._group is not None  # noqa: S101 - only boards with a metric are read
        assert self.metric is not None  # noqa: S101
        ranked, thin = self._split(self._group, self.metric)
        entries = self._entries(ranked, self.metric)
        first = self._group.newest[0]
        stats = entries[0].scores[self.metric]
        line = self._lines[first.run_id]
        return DatasetBoard(
            dataset_name=first.dataset_name,
            dataset_hash=first.dataset_hash,
            judge_model=line.judge_model,
            judge_hash=first.judge_hash,
            rubric_hash=first.rubric_hash,
            cases=first.plan.dataset.selected,
            metric=self.metric,
            digits=digits(stats.scale),
            runs=tuple(entries[:limit]),
            more_runs=max(0, len(entries) - limit),
            left_out=(*thin, *self._incomparable(self._group)),
        )

    def _split(self, group: Group, metric: str) -> tuple[list[FinishedRun], list[UnrankedRun]]:
        """The runs to rank, and those that have scored too few cases to be."""
        scored = {run.run_id: stats for run in group.newest if (stats := _stats(self._lines[run.run_id]).get(metric))}
        most = max(stats.num_cases for stats in scored.values())
        ranked, thin = [], []
        for run in group.newest:
            cases = scored[run.run_id].num_cases if run.run_id in scored else 0
            if cases >= CASE_SHARE * most:
                ranked.append(run)
            else:
                thin.append(_unranked(run, f"has scores for {cases:,} of {many(most, 'case')}"))
        return ranked, thin

    def _entries(self, runs: Sequence[FinishedRun], metric: str) -> list[RankedRun]:
        assert self._group is not None  # noqa: S101 - see `read`
        lines = [self._lines[run.run_id] for run in runs]
        ranks = interval_ranks([_stats(line)[metric].interval for line in lines])
        entries = [
            _entry(run, line, rank, self._cost(run), self._group.older[run.run_id])
            for run, line, rank in zip(runs, lines, ranks, strict=True)
        ]
        return sorted(entries, key=lambda entry: (entry.rank is None, entry.rank or 0, -entry.scores[metric].mean))

    def _cost(self, run: FinishedRun) -> float | None:
        """What the samples of a run cost: a run that reused answers has paid for a part of them only."""
        return self._store.case_cost(run.run_id) if run.plan.reuse else self._lines[run.run_id].cost

    def _incomparable(self, group: Group) -> list[UnrankedRun]:
        first = group.newest[0]
        found = [_unranked(run, why_left_out(run, first)) for other in self._others for run in other.newest]
        return sorted(found, key=lambda run: run.started_at, reverse=True)


def _entry(run: FinishedRun, line: RunLine, rank: int | None, cost: float | None, older: int) -> RankedRun:
    assert line.summary is not None  # noqa: S101 - it has the metric that it is ranked by
    totals, prompt = line.summary.totals, run.plan.target.prompt
    samples = sum(count for status, count in totals.samples.items() if status != "pending")
    tokens = (line.input_tokens or 0) + (line.output_tokens or 0) or None
    return RankedRun(
        rank=rank,
        run_id=line.run_id,
        started_at=line.started_at,
        status=line.status,
        model=line.generator_model or "",
        prompt_hash=line.prompt_hash,
        prompt_version=line.prompt_version,
        prompt_file=PurePath(prompt.path).name if prompt and prompt.path else None,
        synthetic=bool(line.synthetic),
        scores={name: _score(each) for name, each in _stats(line).items()},
        samples=samples,
        errors=samples - totals.samples.get("completed", 0),
        cost=cost,
        unpriced_calls=totals.unpriced_calls,
        tokens=tokens,
        older_runs=older,
    )


def _score(stats: OverallMetric) -> RankedScore:
    return RankedScore(
        mean=stats.mean_of_means,
        interval=stats.interval,
        scale=stats.scale,
        pass_rate=stats.pass_rate,
        pass_interval=stats.pass_interval,
        cases=stats.num_cases,
        failed=stats.failed,
    )


def _unranked(run: FinishedRun, reason: str) -> UnrankedRun:
    prompt = run.plan.target.prompt
    return UnrankedRun(
        run_id=run.run_id,
        started_at=run.started_at,
        model=run.plan.target.model,
        prompt_hash=prompt.hash if prompt else None,
        reason=reason,
    )


def _stats(line: RunLine) -> Mapping[str, OverallMetric]:
    return line.summary.overall_metric_stats if line.summary else {}


def _has(line: RunLine, metric: str | None) -> bool:
    return bool(_stats(line)) if metric is None else metric in _stats(line)
