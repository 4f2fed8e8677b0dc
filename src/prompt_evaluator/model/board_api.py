"""What the pages about models and about runs over time can be asked for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model.bounds import PAGE_SIZE, TREND_RUNS

_Choice = Annotated[str, Meta(max_length=300)]
"""Empty if a form did not choose."""


class LeaderboardPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page about models shows."""

    dataset: _Choice = ""
    """Name, or the beginning of a hash; by default all."""
    metric: _Choice = ""
    """By default the first one of each dataset."""
    limit: Annotated[int, PAGE_SIZE.meta] = 20
    """How many models of each dataset to list at most."""


class TrendsPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page about runs over time shows."""

    dataset: _Choice = ""
    """Name, or the beginning of a hash; by default that of the newest run."""
    metric: _Choice = ""
    """By default the first one that changed, or the first."""
    model: _Choice = ""
    judge: _Choice = ""
    """Model, or the beginning of the judge's hash; by default that of the newest run."""
    versions: Literal["same", "all"] = "same"
    """Whether runs of other versions of the dataset and of other judges are shown, too."""
    limit: Annotated[int, TREND_RUNS.meta] = 50
    """The newest so many runs."""
