"""Further requests of the HTTP API: what to list, export, compare, decide and label."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model.bounds import (
    FLAG_THRESHOLD,
    LABEL_COUNT,
    METRIC_THRESHOLD,
    PAGE_SIZE,
    PROBABILITY,
    SAMPLE_INDEX,
    SCORE,
    SKIPPED,
    TREND_RUNS,
)
from prompt_evaluator.model.labelling import USUAL_COUNT

_Name = Annotated[str, Meta(min_length=1, max_length=300)]
_Note = Annotated[str, Meta(max_length=2_000)]


class CasesQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which cases of a dataset to list."""

    start: Annotated[int, SKIPPED.meta] = 0
    limit: Annotated[int, PAGE_SIZE.meta] = 50


class ExportQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to export results."""

    format: Literal["json", "jsonl", "csv"] = "json"


TableFormat = Literal["csv", "jsonl", "markdown"]
_Filter = Annotated[str, Meta(max_length=2_000)]


class CaseFileQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which cases of a run to write to a file."""

    q: _Filter = ""
    """A filter, as on the page of the run: `correct<3 topic:billing failing`."""
    sort: _Name = "position"
    """`position`, `cost`, `latency`, `flakiness` or a metric; `-` in front reverses."""
    columns: tuple[_Name, ...] = ()
    """Metadata to add, separated by commas; may be repeated."""
    format: TableFormat = "csv"
    """Markdown has the first 200 rows."""


class SliceFileQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which groups of cases to write to a file."""

    keys: tuple[_Name, ...] = ()
    """Metadata to group by; may be repeated. By default, every key with a few values."""
    format: TableFormat = "csv"


class ErrorFileQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to write the errors of a run to a file."""

    format: TableFormat = "csv"


class RecentErrorFileQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The errors of which runs to write to a file."""

    q: _Filter = ""
    """A filter of runs, such as `dataset:support model~gpt`."""
    format: TableFormat = "csv"


class RunFileQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which runs to write to a file."""

    q: _Filter = ""
    """A filter, such as `dataset:support model~gpt status:completed`."""
    metric: _Name | None = None
    """The metric to write; by default the first of each run."""
    sort: _Name = "age"
    """A column, `metric.NAME` or `tag.KEY`; `-` in front reverses."""
    format: TableFormat = "csv"


class ReportQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to report."""

    format: Literal["html", "markdown", "json"] = "html"
    against: _Name | None = None
    """A baseline: the report then compares the run with it."""


class CompareRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two runs to compare, by their ids or names."""

    baseline: _Name
    candidate: _Name
    metric_threshold: Annotated[float, METRIC_THRESHOLD.meta] = 0.1
    """Smallest difference of means that matters, on a scale from 1 to 5."""
    flag_threshold: Annotated[float, FLAG_THRESHOLD.meta] = 0.05
    allow_different: bool = False
    slices: Annotated[tuple[_Name, ...], Meta(max_length=20)] | None = None


class CompareManyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Several runs to compare with one baseline."""

    baseline: _Name
    candidates: Annotated[tuple[_Name, ...], Meta(min_length=1, max_length=20)]
    metric_threshold: Annotated[float, METRIC_THRESHOLD.meta] = 0.1
    flag_threshold: Annotated[float, FLAG_THRESHOLD.meta] = 0.05
    allow_different: bool = False


class TrendsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which runs to follow over time."""

    dataset: _Name | None = None
    metric: _Name | None = None
    judge: _Name | None = None
    model: _Name | None = None
    where: tuple[_Name, ...] = ()
    limit: Annotated[int, TREND_RUNS.meta] = 50


class LeaderboardRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which models to rank."""

    dataset: _Name | None = None
    metric: _Name | None = None


class TrendsFileQuery(TrendsQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which runs over time to write to a file."""

    format: TableFormat = "csv"


class LeaderboardFileRequest(LeaderboardRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which models to write to a file, ranked."""

    format: TableFormat = "csv"


class GateRunRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run to decide about, by the policy in the server's gates.yaml or the built-in one."""

    run: _Name
    baseline: _Name | None = None
    """By default the policy's."""
    allow_different: bool = False


class LabelsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which labels to list."""

    run: _Name | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1_000


class LabelRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's score of one sample."""

    run: _Name
    case_id: _Name
    sample: Annotated[int, SAMPLE_INDEX.meta]
    """Starts at 0."""
    metric: _Name
    value: Annotated[float, SCORE.meta]
    reviewer: _Name | None = None
    """By default, the name of the token. Only admins may label under another name."""
    comment: _Note = ""
    judge_seen: bool | None = None
    """Whether the reviewer had seen the judge's score."""
    probability: Annotated[float, PROBABILITY.meta] | None = None
    """With which the sample was drawn; by default, it was not drawn at random."""
    answer_hash: Annotated[str, Meta(max_length=80)] | None = None
    """Of the answer that was shown; if it is given, a label of another answer is refused."""


class LabelPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which answer of a run to label next."""

    metric: _Name | None = None
    """What to label; by default, a form asks for it."""
    reviewer: Annotated[str, Meta(max_length=300)] = ""
    """Who labels; where tokens are needed, it is the name of the token."""
    count: Annotated[int, LABEL_COUNT.meta] = USUAL_COUNT
    """How many answers are drawn at random."""
    skip: Annotated[int, SKIPPED.meta] = 0
    """How many of them to leave out."""
    after: _Name | None = None
    """The case that was labelled last, to be shown beside with the judge's opinion."""
    sample: Annotated[int, SAMPLE_INDEX.meta] = 0
    """Its sample."""
