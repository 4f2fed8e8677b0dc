"""A group of runs, every model on every dataset: how each ended, and what to say about all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.model.findings import Mark, Note, Scale

if TYPE_CHECKING:
    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.model.outcome import Outcome

MemberStatus = Literal["completed", "partial", "failed", "aborted", "not_begun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One model on one dataset, and how that ended. Without outcome and error the run was not begun."""

    dataset: str
    model: str
    outcome: Outcome | None = None
    error: PromptEvaluatorError | None = None
    """What kept it from being carried out at all."""
    seconds: float | None = None
    """How long it took, however it ended."""


class GroupMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that at least one run was scored by."""

    name: str
    scale: Scale
    digits: int
    """After the point."""


class MemberScore(msgspec.Struct, frozen=True, kw_only=True):
    """What one run comes to by one metric."""

    mean: float
    interval: tuple[float, float] | None
    """95 % of the mean."""
    no_interval: Note | None
    """Why there is none."""
    mark: Mark


class MemberFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What to say about one run of the group."""

    dataset: str
    model: str
    run_id: str | None
    """None where it was not begun, or could not be carried out at all."""
    status: MemberStatus
    label: str
    """How it ended, in a word or two: a run that an error stopped has failed, for whoever looks at a table."""
    mark: Mark
    reason: str | None
    """Why it is not as good as it could be: what failed, what stopped it, which bar it missed."""
    judges: tuple[str, ...]
    scores: dict[str, MemberScore]
    """By metric."""
    skipped: tuple[str, ...]
    """Metrics that no case of the dataset has what they need for."""
    cost: float | None
    """US dollars; None when nothing has a known price."""
    unpriced_calls: int
    seconds: float | None


class GroupFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What to say about the runs of a group together."""

    group_id: str | None
    """None where no run was carried out."""
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    metrics: tuple[GroupMetric, ...]
    members: tuple[MemberFinding, ...]
    """One for each model on each dataset: the models of the first dataset, then those of the next."""
    cost: float | None
    """Of all runs together."""
    unpriced_calls: int
    seconds: float
    notes: tuple[Note, ...]
    """What a reader has to know before comparing any numbers."""
