"""Results of a run as flat rows for tables: plain tuples, because a run may have a million."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CASE_COLUMNS = ("position", "test_case_id", "file", "line", "input", "metadata")
SAMPLE_COLUMNS = (
    *("position", "sample", "attempt", "status", "output", "model", "finish_reason"),
    *("input_tokens", "output_tokens", "cost", "latency_ms", "tries"),
    *("judge_input_tokens", "judge_output_tokens", "judge_cost", "reused"),
    *("error_kind", "error_message", "error_metric", "flags", "comment", "tool_calls", "earlier_attempts"),
)
SCORE_COLUMNS = ("position", "sample", "metric", "judge", "score", "passed", "outcome", "reason", "details", "repeats")


class FlatBatch(NamedTuple):
    """Some consecutive cases of a run with all their samples and scores, each in order."""

    run_id: str
    cases: Sequence[Sequence[Any]]
    """In the order of `CASE_COLUMNS`; positions count up, but not every position has a case."""
    samples: Sequence[Sequence[Any]]
    """In the order of `SAMPLE_COLUMNS`. JSON is text; yes and no may be 1 and 0."""
    scores: Sequence[Sequence[Any]]
    """In the order of `SCORE_COLUMNS`. JSON is text; yes and no may be 1 and 0."""


class WorstSample(NamedTuple):
    """The sample of a case that misses most pass marks."""

    sample: int
    """Starts at 0."""
    answer: str | None
    """Its beginning."""
    values: dict[str, float]
    """Scores that do not pass, by metric."""
    reasons: dict[str, str]
    """Of those scores; their beginning."""
