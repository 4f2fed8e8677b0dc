"""A group of runs, every model on every dataset or with every prompt: how each ended, and findings about all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.model.findings import Mark, Note, Scale

if TYPE_CHECKING:
    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.model.outcome import Outcome

MemberStatus = Literal["completed", "partial", "failed", "aborted", "queued", "not_begun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One model on one dataset, and how the run ended. Without outcome and error, it was not started."""

    dataset: str
    model: str
    prompt: str | None = None
    """A short name of the system prompt; None in a group that does not compare prompts."""
    outcome: Outcome | None = None
    error: PromptEvaluatorError | None = None
    """Why the run could not start."""
    seconds: float | None = None
    """How long it took, however it ended."""

    @property
    def subject(self) -> str:
        """What tells it apart from other runs of its model: its prompt or its dataset."""
        return self.dataset if self.prompt is None else self.prompt


class GroupMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric for which at least one run has a score."""

    name: str
    scale: Scale
    digits: int
    """Decimal places that suit the scale."""


class MemberScore(msgspec.Struct, frozen=True, kw_only=True):
    """One run's mean on one metric."""

    mean: float
    interval: tuple[float, float] | None
    """95 % interval of the mean."""
    no_interval: Note | None
    """Why there is no interval."""
    mark: Mark


class MemberFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Findings about one run of the group."""

    dataset: str
    model: str
    prompt: str | None
    """A short name of the system prompt; None in a group that does not compare prompts."""
    run_id: str | None
    """None if the run was not started or could not start."""
    status: MemberStatus
    label: str
    """How it ended, in a word or two, for tables: a run stopped by a provider's error is `failed`."""
    mark: Mark
    reason: str | None
    """What failed, what stopped it, or which bar it missed; None if nothing did."""
    judges: tuple[str, ...]
    scores: dict[str, MemberScore]
    """By metric."""
    skipped: tuple[str, ...]
    """Metrics for which every case lacks a required field."""
    not_measured: tuple[str, ...]
    """Metrics of the run that no sample has a score for."""
    cost: float | None
    """US dollars; None if no price is known."""
    unpriced_calls: int
    seconds: float | None

    @property
    def subject(self) -> str:
        """What tells it apart from other runs of its model: its prompt or its dataset."""
        return self.dataset if self.prompt is None else self.prompt


class GroupFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Findings about a whole group."""

    group_id: str | None
    """None if no run started."""
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    prompts: tuple[str, ...]
    """Empty in a group that does not compare prompts."""
    metrics: tuple[GroupMetric, ...]
    members: tuple[MemberFinding, ...]
    """All models on the first dataset or with the first prompt, then on or with the next."""
    cost: float | None
    """Total of all runs in US dollars; None if no price is known."""
    unpriced_calls: int
    seconds: float
    notes: tuple[Note, ...]
    """What to know before comparing numbers."""
