"""The parts of `dataset_evaluation.json` that a comparison needs; everything else in it is skipped unread.

Only numbers, flags and the shape of the file have to be right. Other fields may be missing or anything at all.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Raw = msgspec.Raw
LARGEST_COUNT = 10**9
LARGEST_SCORE = 1e12
"""Far beyond any scale, and small enough to be squared and added up."""
Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1 + 1e-9)]
Score = Annotated[float, msgspec.Meta(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says about the run."""

    test_case_results: list[Raw] | None = None
    run_id: Any = None
    status: Any = None
    timestamp_start: Any = None
    dataset_path: Any = None
    dataset_hash: Any = None
    num_samples_per_case: Any = None
    system_prompt_path: Any = None
    system_prompt: Any = None
    prompt_version_id: Any = None
    prompt_hash: Any = None
    run_notes: Any = None
    tags: Any = None
    synthetic: Any = None
    template: Any = None
    context_template: Any = None
    generator_config: Any = None
    judge_config: Any = None
    judge_configs: Any = None
    rubric_metadata: Any = None
    metrics_config: Any = msgspec.UNSET
    """None in a file whose run has no metrics outside the rubric; absent if that is unknown."""
    overall_metric_stats: Any = None
    totals: Any = None
    test_case_id: Any = None
    runs: Any = None


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """`per_metric_stats` of one metric."""

    mean: Score | None = None
    std: Score | None = None
    count: Count | None = None
    passed: Count | None = None


class FlagCounts(msgspec.Struct, frozen=True, kw_only=True):
    """`per_flag_stats` of one flag."""

    true_count: Count | None = None
    false_count: Count | None = None
    total_count: Count | None = None
    true_proportion: Share | None = None


class SampleScore(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `judge_metrics` or `scores`."""

    score: Score | None = None
    passed: bool | None = None


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A sample without its texts."""

    status: str | None = None
    judge_metrics: dict[str, SampleScore | Score | None] | None = None
    judge_flags: dict[str, bool | None] | None = None
    scores: dict[str, SampleScore | Score | None] | None = None
    latency_ms: Score | None = None
    cost: Any = None
    judge_cost: Any = None
    error: Any = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `test_case_results`, without the texts of its samples."""

    test_case_id: str | None = None
    test_case_input: Any = None
    test_case_metadata: Any = None
    num_samples: Count | None = None
    samples: list[Sample] | None = None
    per_metric_stats: dict[str, Stats | Score | None] | None = None
    per_flag_stats: dict[str, FlagCounts | None] | None = None
    missing_scores: dict[str, Count] | None = None


class CaseTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The samples of a case with everything that people look at, decoded only for cases that are shown."""

    samples: list[dict[str, Any]] | None = None


def text(value: Any) -> str | None:
    """The value if it is a text, and not an empty one."""
    return value if isinstance(value, str) and value else None


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """The value if it is a number that can be calculated with."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and abs(value) <= LARGEST_SCORE else None


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and number(value) is not None else None


def score_of(entry: SampleScore | float | None) -> float | None:
    return entry.score if isinstance(entry, SampleScore) else entry
