"""Findings about a run or a case, as data for terminals, pages, reports and comments to render.

Texts are raw: names in them may contain any character, so renderers must escape and wrap them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from prompt_evaluator.model.run import RunStatus

Mark = Literal["good", "warning", "bad"]
NoteValue = str | int | float | bool | list[str] | dict[str, float] | None
Scale = tuple[float, float]
StepCode = Literal[
    "resume",
    "watch",
    "after_a_change",
    "more_samples",
    "compare",
    "show_answers",
    "more_cases",
    "use_candidate",
]


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One remark: a code with values for programs, and a text for people."""

    code: str
    """Such as `below_bar`. Texts may be reworded; codes and value names are stable."""
    text: str
    values: dict[str, NoteValue] = {}


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """What was run, and how it ended."""

    run_id: str
    status: RunStatus
    mark: Mark
    text: str
    cases: int
    samples: int
    """Per case."""
    model: str
    judges: tuple[str, ...]
    rubric: str | None
    """Only if a judge applies it."""
    synthetic: bool
    stopped_by: str | None
    """The error that ended the run early, as a sentence."""
    notes: tuple[Note, ...]
    """What to know before reading any number: `stopped`, `running`, `synthetic`."""


class MetricFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over all cases."""

    name: str
    mark: Mark
    scale: Scale
    digits: int
    """Decimal places that suit the scale."""
    mean: float
    cases: int
    """How many have a score."""
    pass_rate: float | None
    interval: tuple[float, float] | None
    """95 % interval of the mean."""
    no_interval: Note | None
    """Why there is no interval."""
    std: float | None
    no_std: Note | None
    """Why there is no standard deviation."""
    variability: str | None
    case_means: tuple[float, float]
    """Lowest and highest."""
    notes: tuple[Note, ...]


class FlagFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A flag, over all cases or in one."""

    name: str
    mark: Mark | None
    """None if neither good nor bad: raised rarely, or not judged."""
    raised: int
    judged: int
    share: float | None
    interval: tuple[float, float] | None
    """95 % interval of the share over all cases."""
    no_interval: Note | None
    band: str | None
    text: str
    """The band in words."""


class CaseScore(msgspec.Struct, frozen=True, kw_only=True):
    """A number that makes a case worth looking at."""

    metric: str
    mean: float
    std: float | None
    text: str


class NotableCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case worth looking at, with every metric that says so."""

    test_case_id: str
    scores: tuple[CaseScore, ...]


class FailureFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of failure, and how often it happened."""

    count: int
    kind: str
    metric: str | None
    message: str


class ErrorsFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Samples that lack a score."""

    text: str
    unscored: int
    tried: int
    share: float
    kinds: dict[str, int]
    """Counts by error class."""
    failures: tuple[FailureFinding, ...]
    """Most frequent reasons first."""
    reasons: int
    """Number of different reasons, including those not listed."""


class UsageFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What the run used."""

    text: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    """The part of the input that was read from a cache of the service."""
    cost: float | None
    """US dollars; None if no price is known."""
    unpriced_calls: int
    time_outs: int
    """Tries that timed out; they may have been billed."""
    reused: int
    """Answers reused from earlier runs at no cost."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known in addition to the scores. None or empty means there is nothing to report."""

    worst: tuple[NotableCase, ...]
    flakiest: tuple[NotableCase, ...]
    errors: ErrorsFinding | None
    skipped: Note | None
    """Metrics for which every case lacks a required field."""
    parameters: Note | None = None
    """Which parameters were not sent although they were asked for, or are without effect."""
    answers: Note | None = None
    """How many answers are refusals, cut or empty."""
    missed_bars: tuple[Note, ...]
    """With the codes `below_bar`, `above_bar` and `unmeasured_bar`."""
    judge: Note | None
    """How much judges disagree with themselves."""
    usage: UsageFinding
    confidence: Note | None
    """How much this number of samples can tell."""


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """The run's files."""

    main: str
    """Absolute path."""
    shown: str
    """The same path, shortened for display."""
    cases: str | None
    """Description of the case files' names."""


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """The single most useful thing to do next."""

    code: StepCode
    before: str | None = None
    """What the user has to do first, in words."""
    arguments: tuple[str, ...] = ()
    """The command's arguments; empty if the command is not known."""
    text: str
    """The command as typed in a shell, or a description if there is none."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All findings about a run, in reading order."""

    ended_before: bool = False
    """Whether the run had already ended; its numbers are then in its file."""
    headline: Headline
    no_scores: Note | None = None
    """Shown instead of metrics if there are none."""
    metrics: tuple[MetricFinding, ...] = ()
    flags: tuple[FlagFinding, ...] = ()
    facts: Facts | None = None
    advice: tuple[Note, ...] = ()
    """Most important first."""
    files: Files
    next_step: NextStep | None = None


class CaseMetricFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A metric in one case."""

    name: str
    mark: Mark
    label: Literal["HIGH VARIABILITY", "WIDE RANGE"] | None
    """The label after the numbers; the first as the dataset guide writes it."""
    text: str
    """The numbers, formatted as in the dataset guide."""
    digits: int
    mean: float
    std: float | None
    min: float
    max: float
    count: int
    variability: str | None
    notes: tuple[Note, ...]


class CaseFindings(msgspec.Struct, frozen=True, kw_only=True):
    """All findings about one case."""

    test_case_id: str
    mark: Mark
    """The worst of its metrics and flags."""
    metrics: tuple[CaseMetricFinding, ...]
    flags: tuple[FlagFinding, ...]
