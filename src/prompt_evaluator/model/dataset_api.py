"""What the pages about datasets and the release harness are asked, and what the store says about datasets."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from prompt_evaluator.model.bounds import CASES, SKIPPED


class DatasetsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which datasets to list."""

    q: Annotated[str, Meta(max_length=2_000)] = ""
    """Parts of a name or a title, all of which must be there."""
    show: Literal["all", "broken"] = "all"
    start: Annotated[int, SKIPPED.meta] = 0
    """How many to skip."""


class DatasetPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page of a dataset shows."""

    q: Annotated[str, Meta(max_length=2_000)] = ""
    """A filter, such as `topic:billing text~refund`."""
    columns: tuple[Annotated[str, Meta(min_length=1, max_length=300)], ...] = ()
    """Metadata to show, separated by commas; may be repeated."""
    start: Annotated[int, SKIPPED.meta] = 0
    """How many cases to skip."""
    at: Annotated[int, CASES.meta] | None = None
    """The case to show in full, counted from 1 in the file."""


class HarnessPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page of the release harness shows."""

    baseline: Annotated[str, Meta(min_length=1, max_length=300)] = "previous"
    """What the gate compares the latest run with: `previous`, `last-passed`, `pinned` or a run's id."""
    policy: Literal["threshold", "noise"] = "threshold"
    config: Annotated[str, Meta(max_length=300)] = ""
    """The configuration whose failing tasks are listed; by default all."""
    show: Literal["all", "missing", "triggered", "errors"] = "all"
    """Which failing tasks are listed."""
    start: Annotated[int, SKIPPED.meta] = 0
    """How many of them to skip."""


class DatasetUse(NamedTuple):
    """The runs of one dataset, or of one version of it."""

    name: str
    hash: str | None
    """None where all versions are taken together."""
    runs: int
    newest_run: str
    newest_at: str


class FailedScore(NamedTuple):
    """A score of a sample that did not pass."""

    case_id: str
    sample: int
    metric: str
    reason: str
