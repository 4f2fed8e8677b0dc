"""The release harness: its configurations, and its results as they are written to `evals/results/`.

Names in the files are in camel case: other programs read them.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from prompt_evaluator.model.bounds import RETRIES


class ConfigEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `configs/providers.json`: what is under test."""

    id: str
    provider: str | None = None
    router: str | None = None
    """Provider and router are labels, unless a router is called: it gets the whole entry."""
    model: str | None = None
    target: str | None = None
    """One of our providers with a model, such as `openai/gpt-4o`; None for the mock or the router."""
    retries: Annotated[int, RETRIES.meta] = 0
    """How many more answers to request if one misses a signal or has a trigger."""
    params: dict[str, Any] = {}
    """Everything else that the entry sets."""
    entry: dict[str, Any]
    """The entry as it is written."""
    hash: str
    """Of the entry as it is written; the order of its keys does not matter."""


class HarnessAttempt(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One response."""

    attempt: int
    """Starts at 0."""
    output: str | None = None
    """None in the history, and if the call failed."""
    completion_pass: bool | None = None
    """Whether all required signals are present; None if the call failed."""
    hallucination_incident: bool | None = None
    """Whether a trigger is present; None if the call failed."""
    latency_ms: float | None = None
    error: str | None = None


class HarnessEvaluation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One sample of one task with one configuration."""

    config_id: str
    provider: str | None = None
    router: str | None = None
    model: str | None = None
    task_id: str
    category: str | None = None
    sample: int = 0
    """Starts at 0."""
    completion_pass: bool | None
    """Whether the last response has all required signals; None if its call failed."""
    retries_used: int
    hallucination_incident: bool
    """Whether any response has a trigger."""
    hallucination_incidents: int = 0
    """Responses with a trigger, over all attempts."""
    latency_ms: float | None
    """Mean over all attempts; None if no call was answered."""
    output_sample: str | None = None
    """The last response; None in the history."""
    attempts: tuple[HarnessAttempt, ...] = ()
    error: str | None = None
    """Why there is no last response: the kind of error, and its message."""


class HarnessSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All tasks with one configuration. What cannot be computed, because every task failed, is None."""

    config_id: str
    total_tasks: int
    """Tasks, however many samples each has."""
    task_completion_rate: float | None
    """0 to 100, over tasks and samples; those that failed are left out."""
    retries_per_task: float | None
    hallucination_incidents: int
    latency_avg_ms: float | None
    errors: int = 0
    """Samples of tasks without a last response."""


class HarnessRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All tasks with all configurations, once. `latest.json` is one, `history.json` a list of them without outputs."""

    run_id: str
    timestamp: str
    """ISO 8601, UTC; when it started."""
    summaries: tuple[HarnessSummary, ...]
    evaluations: tuple[HarnessEvaluation, ...] = ()
    status: str | None = None
    """`completed`, or why not all tasks were carried out: `partial`, `failed` or `aborted`; None if unknown."""
    samples: int = 1
    synthetic: bool | None = None
    """Whether the offline mock answered; None if unknown."""
    tasks_hash: str | None = None
    """Of all tasks that were chosen: their ids, prompts, signals and triggers."""
    config_hashes: dict[str, str] = {}
    """By configuration."""
    store_runs: dict[str, str] = {}
    """By configuration, the id of its run in the store."""


class TrendPoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One run in `trends.json`."""

    run_id: str
    timestamp: str
    task_completion_rate: float | None
    retries_per_task: float | None
    hallucination_incidents: int
    latency_avg_ms: float | None
