"""What a judge looks for."""

from __future__ import annotations

from typing import Annotated

import msgspec

from prompt_evaluator.model.bounds import SCORE
from prompt_evaluator.model.score import ScoreScale


class Criterion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One score given by a judge, on its own scale."""

    name: str
    description: str
    min_score: Annotated[float, SCORE.meta] = 1
    max_score: Annotated[float, SCORE.meta] = 5
    guidelines: str = ""
    pass_at: Annotated[float, SCORE.meta] | None = None
    """An answer passes at or above this score; by default, three quarters up the scale. Judges never see it."""

    @property
    def scale(self) -> ScoreScale:
        mark = self.min_score + 0.75 * (self.max_score - self.min_score) if self.pass_at is None else self.pass_at
        return ScoreScale(self.min_score, self.max_score, mark)


class Flag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One yes-or-no question answered by a judge."""

    name: str
    description: str
    default: bool = False


class Rubric(msgspec.Struct, frozen=True, kw_only=True):
    """Criteria and flags that are judged in one call."""

    name: str
    metrics: tuple[Criterion, ...]
    flags: tuple[Flag, ...] = ()
    path: str | None = None
    """The file it was read from; None for a built-in rubric."""
    hash: str
    """SHA-256 of the file's bytes, as bare hexadecimal digits."""
