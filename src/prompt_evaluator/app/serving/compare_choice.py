"""Runs to choose two of, to be compared: the recent ones of each dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.serving.run_answers import answers_of, run_answer
from prompt_evaluator.model.api import ApiRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.config.loading import Settings

_LOOKED_AT = 200
_MOST_RUNS = 12
"""Of one dataset."""
_FEWEST = 2


class DatasetRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The recent runs of one dataset, the newest first."""

    dataset: str | None
    runs: tuple[ApiRun, ...]
    more: int
    """Runs that are not listed."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What to choose from, and what is chosen already."""

    datasets: tuple[DatasetRuns, ...]
    baseline: str | None
    candidates: tuple[str, ...]


def choice(settings: Settings, baseline: str | None, candidates: Sequence[str]) -> Choice:
    """Recent runs by dataset. The dataset of what is chosen comes first, with its baseline as A.

    Args:
        settings: Name the store.
        baseline: The run that is chosen as A, by its whole id.
        candidates: The runs that are chosen as B, by their whole ids.
    """
    _, page = answers_of(settings, (), "age", _LOOKED_AT, None)
    chosen = [run_answer(settings, run_id) for run_id in ([baseline] if baseline else []) + list(candidates)]
    runs = [run for run in (*chosen, *page.runs) if run.kind != "pairwise" and run.status != "queued"]
    by_dataset: dict[str | None, dict[str, ApiRun]] = {}
    for run in runs:
        by_dataset.setdefault(run.dataset, {})[run.id] = run
    pinned = {run.id for run in chosen}
    groups = [_group(dataset, list(found.values()), pinned) for dataset, found in by_dataset.items()]
    if not chosen:  # where there is something to compare comes first
        groups.sort(key=lambda group: (len(group.runs) < _FEWEST, not any(run.baseline_of for run in group.runs)))
    first = groups[0].runs if groups else ()
    ours = baseline or _baseline(first, candidates)
    others = sorted((run for run in first if run.id != ours), key=lambda run: run.status != "completed")
    theirs = tuple(candidates) or tuple(run.id for run in others[:1])
    return Choice(datasets=tuple(groups), baseline=ours, candidates=theirs)


def _group(dataset: str | None, runs: list[ApiRun], chosen: set[str]) -> DatasetRuns:
    """The newest runs, and those that are pinned or chosen."""
    newest = sorted(runs, key=lambda run: run.created_at, reverse=True)
    shown = [run for at, run in enumerate(newest) if at < _MOST_RUNS or run.baseline_of or run.id in chosen]
    return DatasetRuns(dataset=dataset, runs=tuple(shown), more=len(newest) - len(shown))


def _baseline(runs: Sequence[ApiRun], candidates: Sequence[str]) -> str | None:
    """The pinned run of a dataset, or the newest one that is older than the candidate."""
    others = [run for run in runs if run.id not in candidates]
    pinned = next((run.id for run in others if run.dataset in run.baseline_of), None)
    if pinned:
        return pinned
    newest = next((run.created_at for run in runs if run.id in candidates), None)
    older = [run.id for run in others if newest is None or run.created_at <= newest]
    return older[0 if candidates else min(1, len(older) - 1)] if older else None
