"""Everything that the page of the release harness says: the latest run, its history, the gate and failing tasks."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.serving.harness_files import ConfigFacts, HarnessFacts
from prompt_evaluator.app.serving.harness_tasks import (
    ROWS,
    FailingTask,
    TaskCounts,
    failing_tasks,
    of_kind,
    task_counts,
    with_reasons,
)
from prompt_evaluator.app.serving.row_span import RowSpan
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.harness_gate import GateOutcome, MovedRow
from prompt_evaluator.model.harness_trend import ConfigTrend
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.harness_gate import explained, heading, limit_row

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.dataset_api import HarnessPageQuery
    from prompt_evaluator.model.trend import MetricTrend

BASELINES = ("previous", "last-passed", "pinned")
_PROGRAM = "prompt-evaluator"


class ConfigRow(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration of the latest run."""

    place: int
    facts: ConfigFacts
    run_id: str | None
    """Its run in the store, if it is there."""
    failing: TaskCounts
    trend: ConfigTrend | None

    @property
    def metrics(self) -> dict[str, MetricTrend]:
        """Its metrics over time, by name."""
        return {each.name: each for each in self.trend.metrics} if self.trend else {}


class GateLimit(msgspec.Struct, frozen=True, kw_only=True):
    """One limit of the gate, with what happened."""

    row: MovedRow
    sentence: str


class HarnessPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page."""

    facts: HarnessFacts
    outcome: GateOutcome
    """Of the gate, in words that say nothing about where files are."""
    headline: str
    compared: str | None
    """Which runs the gate compared."""
    limits: tuple[GateLimit, ...]
    configs: tuple[ConfigRow, ...]
    names: tuple[str, ...]
    """The configurations of the history, those of the latest run first."""
    stored: frozenset[str]
    """Runs of the history that are in the store."""
    all_failing: int
    tasks: tuple[FailingTask, ...]
    counts: TaskCounts
    """Of the chosen configuration, or of all."""
    span: RowSpan
    unknown: bool
    """Whether reasons of a configuration are not known, because its run is not in the store."""
    commands: tuple[tuple[str, str], ...]
    """What each gives, and the command."""


def harness_page(settings: Settings, facts: HarnessFacts, query: HarnessPageQuery) -> HarnessPage:
    """What the page says.

    Raises:
        UnknownNameError: The latest run has no such configuration.
    """
    store = open_store(settings)
    stored = store.known_runs([run_id for each in facts.past for run_id in each.store_runs.values()])
    runs = {name: run_id for name, run_id in facts.run.store_runs.items() if run_id in stored}
    failing = {each.summary.config_id: failing_tasks(each) for each in facts.configs}
    if query.config and query.config not in failing:
        raise UnknownNameError("configuration", query.config, failing)
    chosen = [task for name, tasks in failing.items() if query.config in ("", name) for task in tasks]
    wanted = of_kind(chosen, query.show)
    shown = with_reasons(store, wanted[query.start : query.start + ROWS], runs)
    outcome = _without_folder(facts.outcome, settings.cwd)
    return HarnessPage(
        facts=facts,
        outcome=outcome,
        headline=gate_headline(outcome),
        compared=heading(outcome),
        limits=tuple(_limits(outcome)),
        configs=tuple(_rows(facts, runs, failing)),
        names=tuple(dict.fromkeys(name for each in facts.past for name in each.completion)),
        stored=frozenset(stored),
        all_failing=sum(map(len, failing.values())),
        tasks=shown,
        counts=task_counts(chosen),
        span=RowSpan(query.start, len(shown), len(wanted), ROWS),
        unknown=any(each.run_id is None for each in shown),
        commands=_commands(query),
    )


def _limits(outcome: GateOutcome) -> list[GateLimit]:
    """Those that were exceeded first."""
    moved = sorted(outcome.movements, key=lambda each: not each.exceeded)
    return [GateLimit(row=limit_row(each), sentence=explained(each)) for each in moved]


def _rows(facts: HarnessFacts, runs: dict[str, str], failing: dict[str, list[FailingTask]]) -> list[ConfigRow]:
    trends = {each.config_id: each for each in facts.trends.configs} if facts.trends else {}
    return [
        ConfigRow(
            place=at,
            facts=each,
            run_id=runs.get(each.summary.config_id),
            failing=task_counts(failing[each.summary.config_id]),
            trend=trends.get(each.summary.config_id),
        )
        for at, each in enumerate(facts.configs, start=1)
    ]


def gate_headline(outcome: GateOutcome) -> str:
    """The verdict in one sentence."""
    configurations = many(len({each.config_id for each in outcome.movements} or outcome.noise), "configuration")
    match outcome.verdict:
        case "pass":
            return f"The gate passes: nothing of {configurations} got worse by more than its limit."
        case "fail":
            return f"The gate fails: {many(len(outcome.reasons), 'metric')} got worse by more than the limit."
        case "inconclusive":
            return "The gate cannot tell yet: there is too little data to decide."
        case "skipped":
            return "There is only one run, so the gate has nothing to compare it with."
        case "refused":
            return "The gate has no verdict: these runs cannot be compared."


def _without_folder(outcome: GateOutcome, folder: Path) -> GateOutcome:
    """The same, without where the files are: that is the server's business."""
    texts = {
        field: tuple(text.replace(f"{folder}/", "") for text in getattr(outcome, field))
        for field in ("reasons", "notes")
    }
    return msgspec.structs.replace(outcome, **texts)


def _commands(query: HarnessPageQuery) -> tuple[tuple[str, str], ...]:
    gate = [_PROGRAM, "evals", "gate"]
    gate += ["--baseline", query.baseline] if query.baseline != BASELINES[0] else []
    gate += ["--policy", query.policy] if query.policy != "threshold" else []
    return (
        ("The ranking", join([_PROGRAM, "evals", "leaderboard"])),
        ("The history", join([_PROGRAM, "evals", "trends"])),
        ("The gate, which also records its verdict", join(gate)),
    )
