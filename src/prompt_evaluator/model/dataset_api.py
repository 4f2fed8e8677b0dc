"""What the pages about datasets are asked, and what the store says about datasets."""

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


class DatasetUse(NamedTuple):
    """The runs of one dataset, or of one version of it."""

    name: str
    hash: str | None
    """None where all versions are taken together."""
    runs: int
    newest_run: str
    newest_at: str
