"""The harness's configurations over time."""

from __future__ import annotations

import msgspec

from prompt_evaluator.model.trend import LeftOutRun, MetricFindings, MetricTrend


class ConfigTrend(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration over the runs that have it."""

    config_id: str
    metrics: tuple[MetricTrend, ...]
    findings: dict[str, MetricFindings]
    """What to say about each metric."""


class HarnessTrends(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of the history that can be compared with the newest."""

    runs: int
    first: str
    last: str
    """When the oldest and the newest were started."""
    more_runs: bool
    """Whether there are older ones."""
    configs: tuple[ConfigTrend, ...]
    left_out: tuple[LeftOutRun, ...]
    notes: tuple[str, ...]
