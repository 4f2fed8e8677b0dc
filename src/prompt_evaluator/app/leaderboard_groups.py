"""Groups of runs that can be compared: the same cases, judge, rubric and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.store.leaderboard_query import FinishedRun

CASE_SHARE = 0.9
"""Runs that have scored a smaller share of the cases than the others are left out."""
_in_order = msgspec.json.Encoder(order="deterministic").encode


class Group(NamedTuple):
    """Comparable runs."""

    newest: list[FinishedRun]
    """Of each model with each prompt, newest first."""
    older: dict[str, int]
    """How many earlier runs of the same model and prompt each has."""


class _Key(NamedTuple):
    """What comparable runs have in common."""

    dataset: str | None
    selection: bytes | None
    judge: str | None
    rubric: str | None
    metrics: bytes


def groups(runs: Sequence[FinishedRun]) -> list[Group]:
    """The groups of comparable runs among the runs of a dataset, which are given newest first."""
    found: dict[_Key, dict[tuple[str, str | None], list[FinishedRun]]] = {}
    for run in runs:
        prompt = run.plan.target.prompt
        target = (run.plan.target.model, prompt.hash if prompt else None)
        found.setdefault(_key(run), {}).setdefault(target, []).append(run)
    return [
        Group([same[0] for same in targets.values()], {same[0].run_id: len(same) - 1 for same in targets.values()})
        for targets in found.values()
    ]


def best_group(every: Sequence[Group]) -> Group:
    """The group with the most models and prompts; of several such, the one with the newest run."""
    return max(every, key=lambda group: (len(group.newest), group.newest[0].started_at))


def why_left_out(run: FinishedRun, ranked: FinishedRun) -> str:
    """The first thing that makes a run incomparable with a ranked one."""
    mine, theirs = _key(run), _key(ranked)
    if mine.dataset != theirs.dataset:
        return f"has another version of the dataset, {(run.dataset_hash or '')[:8]}"
    if mine.selection != theirs.selection:
        dataset = run.plan.dataset
        part = f"{dataset.selected:,} of the" if dataset.selected < dataset.count else "all"
        return f"has {part} {many(dataset.count, 'case')}"
    if mine.judge != theirs.judge:
        return _other_judge(run.plan, ranked.plan)
    return "has another rubric" if mine.rubric != theirs.rubric else "has other metrics"


def _other_judge(plan: RunPlan, ranked: RunPlan) -> str:
    if not plan.judge_models:
        return "has no judge"
    if plan.judge_models == ranked.judge_models:
        return "was judged with other settings of the judge"
    return f"was judged by {plan.judge_models[0]}"


def _key(run: FinishedRun) -> _Key:
    dataset = run.plan.dataset
    part = None if dataset.selected == dataset.count else _in_order((dataset.selected, run.plan.filters))
    return _Key(run.dataset_hash, part, run.judge_hash, run.rubric_hash, _in_order(run.plan.metrics))
