"""Models ranked on the same cases by the same judge."""

from __future__ import annotations

import msgspec


class LeaderboardQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which datasets, and what to rank by. None means all datasets, and the first metric of each."""

    dataset: str | None = None
    """Name, path, or the beginning of a hash."""
    metric: str | None = None
    limit: int = 20
    """How many models of each dataset to list at most."""


class RankedScore(msgspec.Struct, frozen=True, kw_only=True):
    """A run's result on one metric."""

    mean: float
    """Over its cases; scores of zero count."""
    interval: tuple[float, float] | None
    """95 % interval of the mean; None below five cases."""
    scale: tuple[float, float]
    pass_rate: float | None
    pass_interval: tuple[float, float] | None
    cases: int
    """With a score."""
    failed: int
    """Samples without a score that should have one."""


class RankedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The newest finished run of one model with one prompt."""

    rank: int | None
    """1 plus the number of runs whose interval lies above this one's; None without an interval. So runs that their
    intervals cannot tell apart share a rank."""
    run_id: str
    started_at: str
    status: str
    """`completed` or `partial`."""
    model: str
    prompt_hash: str | None
    """None without a system prompt."""
    prompt_version: str | None
    prompt_file: str | None
    """The name of its file, without the folder; None if it did not come from a file."""
    synthetic: bool
    """Whether the offline mock answered or judged: then the numbers say nothing about a model."""
    scores: dict[str, RankedScore]
    """By metric."""
    samples: int
    """Samples that have been tried."""
    errors: int
    """Samples that lack an answer or a score."""
    cost: float | None
    """US dollars for all samples, including what was reused; None if no price is known."""
    unpriced_calls: int
    """Calls that `cost` leaves out because their price is not known."""
    tokens: int | None
    older_runs: int
    """Earlier runs of the same model with the same prompt, which this one replaces."""

    @property
    def cost_per_sample(self) -> float | None:
        return self.cost / self.samples if self.cost is not None and self.samples else None

    @property
    def tokens_per_sample(self) -> float | None:
        return self.tokens / self.samples if self.tokens is not None and self.samples else None


class UnrankedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is not comparable with those that are ranked."""

    run_id: str
    started_at: str
    model: str
    prompt_hash: str | None
    reason: str
    """Goes behind the run's name, such as `was judged by another judge`."""


class DatasetBoard(msgspec.Struct, frozen=True, kw_only=True):
    """The models of one dataset, best first. All runs have the same cases, judge, rubric and metrics."""

    dataset_name: str | None
    dataset_hash: str | None
    judge_model: str | None
    judge_hash: str | None
    rubric_hash: str | None
    cases: int
    """Of the dataset, as selected by these runs."""
    metric: str
    """What they are ranked by."""
    digits: int
    """Decimal places that suit its scale."""
    runs: tuple[RankedRun, ...]
    more_runs: int
    """How many follow that are not listed."""
    left_out: tuple[UnrankedRun, ...]


class Leaderboard(msgspec.Struct, frozen=True, kw_only=True):
    """One board for each dataset with finished runs, most recently used first."""

    boards: tuple[DatasetBoard, ...]
    looked_at: int
    """How many finished runs were considered."""
    more_runs: bool
    """Whether there are older ones that were not."""
