"""What goes over the wire: requests and answers of the HTTP API, shared by server and client."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model.bounds import (
    BUDGET,
    CALLS,
    CASES,
    CONCURRENCY,
    PAGE_SIZE,
    SAMPLES,
    SEED,
    SKIPPED,
    TEMPERATURE,
    TOKENS,
)
from prompt_evaluator.model.run import RunProgress

ApiStatus = Literal["queued", "running", "completed", "partial", "failed", "aborted"]

_Name = Annotated[str, Meta(min_length=1, max_length=300)]
_Text = Annotated[str, Meta(max_length=200_000)]
_Note = Annotated[str, Meta(max_length=2_000)]
_Tags = Annotated[dict[_Name, Annotated[str, Meta(max_length=300)]], Meta(max_length=50)]


class ApiError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused."""

    error: str
    """A sentence for people."""
    field: str | None = None
    """What is wrong in the request: a field of the body, a parameter of the query, or a header."""


class RunSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to run, and how. Everything is named: callers send no paths, addresses or keys."""

    dataset: _Name | None = None
    """A benchmark's file stem, or a dataset's name in the configuration."""
    model: _Name | None = None
    """As PROVIDER/MODEL."""
    models: Annotated[tuple[_Name, ...], Meta(max_length=50)] = ()
    """Several models: the answer is a group of runs."""
    suite: _Name | None = None
    """A set of datasets, models and metrics in the configuration; the answer is a group of runs."""
    metrics: Annotated[tuple[_Name, ...], Meta(max_length=100)] | None = None
    """Names of metrics; by default the suite's, or correctness."""
    rubric: _Name | None = None
    judge: _Name | None = None
    """The judge model; by default the model itself."""
    samples: Annotated[int, SAMPLES.meta] | None = None
    """Samples per case; by default 1."""
    system_prompt: _Text | None = None
    """The text of the system prompt."""
    prompt_version: _Name | None = None
    temperature: Annotated[float, TEMPERATURE.meta] | None = None
    max_tokens: Annotated[int, TOKENS.meta] | None = None
    seed: Annotated[int, SEED.meta] | None = None
    case_ids: Annotated[tuple[_Name, ...], Meta(max_length=10_000)] | None = None
    where: Annotated[tuple[_Name, ...], Meta(max_length=50)] = ()
    """Conditions on the metadata of cases, such as `difficulty=hard`."""
    max_cases: Annotated[int, CASES.meta] | None = None
    max_cost: Annotated[float, BUDGET.meta] | None = None
    """US dollars; the run stops before it spends more."""
    max_calls: Annotated[int, CALLS.meta] | None = None
    max_concurrency: Annotated[int, CONCURRENCY.meta] | None = None
    """Calls in flight, per key."""
    reuse: bool = False
    """Whether to reuse results of identical requests in earlier runs."""
    tags: _Tags = {}
    note: _Note | None = None


class ApiScore(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's mean over the cases of a run."""

    mean: float
    interval: tuple[float, float] | None
    """95 % interval of the mean."""
    cases: int
    pass_rate: float | None


class ApiRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run, as listed. Lists and mappings are never null."""

    id: str
    group_id: str
    kind: str
    """`evaluation`, `scoring` or `pairwise`."""
    dataset: str | None
    """The file stem; null for cases that did not come from a file."""
    dataset_hash: str | None
    model: str | None
    judge: str | None
    metrics: tuple[str, ...]
    samples: int | None
    """Per case."""
    cases: int | None
    status: ApiStatus
    stop_reason: str | None
    queue_position: int | None
    """How many runs wait before this one; null unless it is queued."""
    summary_scores: dict[str, float]
    """The mean of each metric."""
    scores: dict[str, ApiScore]
    flags: dict[str, float]
    """The share of samples that raised each flag."""
    errors: dict[str, int]
    """Counts by kind of error. Errors are not scores."""
    total_cost: float | None
    """US dollars; null if a price is unknown."""
    total_tokens: int | None
    total_duration_ms: float | None
    created_at: str
    """When it was asked for."""
    started_at: str | None
    """When it was started, the last time; null while it waits."""
    completed_at: str | None
    prompt_version: str | None
    synthetic: bool
    """Whether the offline mock answered or judged."""
    tags: dict[str, str]
    note: str | None
    baseline_of: tuple[str, ...]
    """The names under which it is pinned as a baseline."""
    progress: RunProgress | None


class ApiGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Runs made together."""

    group_id: str
    runs: tuple[ApiRun, ...]


class ApiRunPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of runs."""

    runs: tuple[ApiRun, ...]
    next: str | None
    """The cursor of the next page; null after the last."""


class RunChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change of a run: start or stop it, or describe it."""

    action: Literal["cancel", "resume"] | None = None
    retry_errors: bool = False
    """With `resume`: also retry what failed."""
    tags: Annotated[dict[_Name, Annotated[str, Meta(max_length=300)] | None], Meta(max_length=50)] | None = None
    """Tags to set; null removes one."""
    note: _Note | msgspec.UnsetType | None = msgspec.UNSET
    baseline: _Name | bool | None = None
    """Pin the run as the baseline of this name (true: its dataset's name), or unpin it (false)."""


class RunsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which runs to list."""

    dataset: _Name | None = None
    model: _Name | None = None
    status: ApiStatus | None = None
    group: _Name | None = None
    where: tuple[_Name, ...] = ()
    """Further conditions, such as `metric.correctness>=0.8`, `tag.team=search` or `cost>1`; may be repeated."""
    sort: _Name = "age"
    """A column, `metric.NAME` or `tag.KEY`; `-` in front reverses."""
    limit: Annotated[int, PAGE_SIZE.meta] = 50
    cursor: Annotated[str, Meta(max_length=2_000)] | None = None


class RunTableQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the table of runs shows."""

    q: Annotated[str, Meta(max_length=2_000)] = ""
    """A filter, such as `dataset:support model~gpt status:completed`."""
    metric: _Name | None = None
    """The metric to show; by default the first of each run."""
    baseline: _Name | None = None
    """The run to compare with; by default the one that is pinned as the baseline of each dataset."""
    sort: _Name = "age"
    start: Annotated[str, Meta(max_length=300)] = ""
    """The dataset that is chosen in the form that starts a run."""
    limit: Annotated[int, PAGE_SIZE.meta] = 50
    cursor: Annotated[str, Meta(max_length=2_000)] | None = None


class ComparePageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page about compared runs shows."""

    a: Annotated[str, Meta(max_length=300)] = ""
    """The baseline."""
    b: Annotated[tuple[_Name, ...], Meta(max_length=7)] = ()
    """The candidates; the first is compared with the baseline case by case."""
    metric: Annotated[str, Meta(max_length=300)] = ""
    """The metric whose cases are listed; by default the first."""
    q: Annotated[str, Meta(max_length=2_000)] = ""
    """A filter, such as `changed:worse topic:billing a>=4 b<3`; a and b are the means of the two runs."""
    view: Literal["cases", "matrix"] = "cases"
    show: Literal["all", "failures", "different", "errors"] = "all"
    """Which cases the matrix shows."""
    different: bool = False
    """Compare the common cases of runs with different datasets, rubrics or judges."""
    start: Annotated[int, SKIPPED.meta] = 0
    """How many cases to skip."""
    case: Annotated[str, Meta(max_length=2_000)] = ""
    """The case to show with its answers."""
    diff: Literal["sides", "inline", "json"] = "sides"
    sample_a: Annotated[int, SAMPLES.meta] | None = None
    sample_b: Annotated[int, SAMPLES.meta] | None = None
    """Which samples to show; by default the one that is most like the others."""
    a_from: Annotated[str, Meta(max_length=40)] = ""
    a_to: Annotated[str, Meta(max_length=40)] = ""
    b_from: Annotated[str, Meta(max_length=40)] = ""
    b_to: Annotated[str, Meta(max_length=40)] = ""
    """The number fields; they become part of the filter."""


class ChangeQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to compare a run with."""

    baseline: _Name | None = None
    """A run; by default the one that is pinned as the baseline of the dataset."""


class RunPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page of a run shows of its cases."""

    q: Annotated[str, Meta(max_length=2_000)] = ""
    """A filter, such as `correct<3 flag:leaks_data topic:billing text~refund failing`."""
    sort: _Name = "position"
    """`position`, `cost`, `latency`, `flakiness` or a metric; `-` in front reverses."""
    columns: tuple[_Name, ...] = ()
    """Metadata to show, separated by commas; may be repeated."""
    cursor: Annotated[str, Meta(max_length=2_000)] | None = None
    after: Annotated[int, SKIPPED.meta] = 0
    """How many cases the pages before this one have."""


class SlicesPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the heat map of a run shows."""

    keys: Annotated[tuple[_Name, ...], Meta(max_length=50)] = ()
    """Metadata to group by; may be repeated. By default, every key with a few values."""


class ErrorsPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The errors of which runs the page shows."""

    q: Annotated[str, Meta(max_length=2_000)] = ""
    """A filter of runs, such as `dataset:support model~gpt`."""


class ResultsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which cases of a run to list."""

    status: Literal["pending", "completed", "partial", "failed"] | None = None
    score: tuple[_Name, ...] = ()
    """Conditions on a metric's mean, such as `correctness<0.5`; may be repeated."""
    flag: tuple[_Name, ...] = ()
    """Flags that must have been raised; may be repeated."""
    flaky: bool | None = None
    flagged: bool | None = None
    failing: bool | None = None
    errors: bool | None = None
    error_kind: _Name | None = None
    where: tuple[_Name, ...] = ()
    """Conditions on metadata, such as `topic=billing`; may be repeated."""
    text: _Name | None = None
    """Part of the input or of an answer."""
    sort: _Name = "position"
    """`position`, `cost`, `latency`, `flakiness` or a metric; `-` in front reverses."""
    samples: bool = False
    """Whether to include the samples with their answers."""
    limit: Annotated[int, PAGE_SIZE.meta] = 50
    cursor: Annotated[str, Meta(max_length=2_000)] | None = None


Document = dict[str, Any]
"""An answer with the same keys as the command line's `--json`."""


class SignIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token that a browser is to remember."""

    token: Annotated[str, Meta(min_length=1, max_length=500)]


class ApiDataset(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset that runs can use by name."""

    name: str
    """The file stem, or its name in the configuration."""
    title: str | None
    """As written inside the file."""
    description: str | None
    origin: Literal["project", "configured", "shipped"]
    cases: int
    hash: str | None
    error: str | None
    """The file's first problem; then it cannot be used."""


class ApiDatasets(msgspec.Struct, frozen=True, kw_only=True):
    """All datasets, also broken ones."""

    datasets: tuple[ApiDataset, ...]
