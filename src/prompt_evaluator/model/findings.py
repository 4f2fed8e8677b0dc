"""What there is to say about a run or a case, as data: made once, drawn by terminals, pages, reports and comments.

Texts are as they came: names in them may hold any character, and whoever draws them escapes or wraps them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from prompt_evaluator.model.run import RunStatus

Mark = Literal["good", "warning", "bad"]
NoteValue = str | int | float | bool | list[str] | dict[str, float] | None
Scale = tuple[float, float]
StepCode = Literal[
    "resume", "after_a_change", "another_model", "more_samples", "lower_temperature", "another_rubric", "compare"
]


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to say: what it is for programs, with its values, and in words for people."""

    code: str
    """Such as `below_bar`. Texts may be reworded; codes and the names of values stay."""
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
    """Of each case."""
    model: str
    judges: tuple[str, ...]
    rubric: str | None
    """Only where a judge applies it."""
    synthetic: bool
    stopped_by: str | None
    """The error that ended the run early, as a sentence."""
    notes: tuple[Note, ...]
    """What a reader has to know before any number: `stopped`, `synthetic`."""


class MetricFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over all cases."""

    name: str
    mark: Mark
    scale: Scale
    digits: int
    """After the point: as many as a scale of this size deserves."""
    mean: float
    pass_rate: float | None
    interval: tuple[float, float] | None
    """95 % of the mean."""
    no_interval: Note | None
    """Why there is none."""
    std: float | None
    no_std: Note | None
    """Why there is none."""
    variability: str | None
    case_means: tuple[float, float]
    """The lowest and the highest."""
    notes: tuple[Note, ...]


class FlagFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A flag, over all cases or in one."""

    name: str
    mark: Mark | None
    """None where it is neither good nor bad: raised rarely, or not judged."""
    raised: int
    judged: int
    share: float | None
    interval: tuple[float, float] | None
    """95 % of the share over all cases."""
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
    """What went wrong in the same way, and how often."""

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
    """By the error's class."""
    failures: tuple[FailureFinding, ...]
    """The most frequent reasons first."""
    reasons: int
    """How many there are, those included that are not listed."""


class UsageFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What the run took."""

    text: str
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None when nothing has a known price."""
    unpriced_calls: int
    time_outs: int
    """Tries that timed out, which may have been paid for."""
    reused: int
    """Answers that were not paid for again."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beside the scores. What there is nothing to say about is None or empty."""

    worst: tuple[NotableCase, ...]
    flakiest: tuple[NotableCase, ...]
    errors: ErrorsFinding | None
    skipped: Note | None
    """Metrics that no case has what they need for."""
    missed_bars: tuple[Note, ...]
    """With the codes `below_bar`, `above_bar` and `unmeasured_bar`."""
    judge: Note | None
    """How much judges disagree with themselves."""
    usage: UsageFinding
    confidence: Note | None
    """What so many samples can tell."""


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything else is."""

    main: str
    """Absolute."""
    shown: str
    """The same as a person would write it."""
    cases: str | None
    """The names of the files of single cases, in words."""


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """The one thing that is worth doing next."""

    code: StepCode
    before: str | None = None
    """What a person has to do first, in words."""
    folder: str | None = None
    """Where the command has to be typed, if that is not where its reader is."""
    arguments: tuple[str, ...] = ()
    """The command; empty where it cannot be known."""
    text: str
    """The command as a shell takes it, or in words where there is none."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything to say about a run, in the order in which it is read."""

    ended_before: bool = False
    """There was nothing to do: the numbers are in the run's file."""
    headline: Headline
    no_scores: Note | None = None
    """In place of metrics, where there is none."""
    metrics: tuple[MetricFinding, ...] = ()
    flags: tuple[FlagFinding, ...] = ()
    facts: Facts | None = None
    advice: tuple[Note, ...] = ()
    """The most important first."""
    files: Files
    next_step: NextStep | None = None


class CaseMetricFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A metric in one case."""

    name: str
    mark: Mark
    label: Literal["HIGH VARIABILITY", "WIDE RANGE"] | None
    """What stands behind the numbers, the first as the dataset guide writes it."""
    text: str
    """The numbers as the dataset guide writes them."""
    digits: int
    mean: float
    std: float | None
    min: float
    max: float
    count: int
    variability: str | None
    notes: tuple[Note, ...]


class CaseFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything to say about one case."""

    test_case_id: str
    mark: Mark
    """The worst of its metrics and flags."""
    metrics: tuple[CaseMetricFinding, ...]
    flags: tuple[FlagFinding, ...]
