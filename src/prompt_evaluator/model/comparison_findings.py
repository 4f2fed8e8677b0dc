"""What a comparison shows, in words, as data for terminals, pages, reports and comments to render.

Runs have letters: A is the baseline, B the first candidate. Texts are raw: names in them may contain any character, so
renderers must escape and wrap them.
"""

from __future__ import annotations

import msgspec

from prompt_evaluator.model.comparison import CaseClass, CompareVerdict
from prompt_evaluator.model.findings import Mark, NextStep


class RunLabel(msgspec.Struct, frozen=True, kw_only=True):
    """One of the compared runs."""

    letter: str
    name: str
    """The beginning of its id, or the path of its file."""
    text: str
    """What was run: dataset, model, prompt version, size, tags."""


class DifferenceFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that differs between the runs."""

    code: str
    """As in `Comparison.differs`."""
    label: str
    text: str
    diff: tuple[str, ...] = ()
    """Lines of a unified diff, without the lines that name files."""


class PairedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A metric, a flag or a slice in two runs. Texts are empty if there is nothing to say."""

    name: str
    mark: Mark | None
    """None for no difference."""
    verdict: CompareVerdict
    word: str
    """The verdict in a few words."""
    means: str
    """`4.15 → 3.73`."""
    difference: str
    interval: str
    p: str
    effect: str
    """Size of the effect, and how large that is usually called."""
    record: str
    """In how many cases the candidate is higher, lower and equal."""
    text: str
    """A sentence: the verdict with its reason."""
    notes: tuple[str, ...]
    """Of the sentence, what the other fields do not say."""


class AmountFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Errors, cost, tokens or latency in two runs."""

    label: str
    text: str
    mark: Mark | None = None


class CaseCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases got worse and better on a metric."""

    metric: str
    text: str


class FlippedCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case that got worse or better on a metric."""

    test_case_id: str
    metric: str
    class_: CaseClass
    text: str
    """`4.80 → 2.20, p = 0.004`."""


class FlippedCases(msgspec.Struct, frozen=True, kw_only=True):
    """The cases that got worse, the most certain first, then those that got better."""

    counts: tuple[CaseCount, ...]
    """Only of metrics in which some case flipped."""
    text: str
    """A sentence about all metrics that are not counted."""
    cases: tuple[FlippedCase, ...]
    more: int
    """How many changes of a case on a metric are not listed."""


class SlicesFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Slices that got better or worse."""

    slices: tuple[PairedFinding, ...]
    text: str


class ComparisonFindings(msgspec.Struct, frozen=True, kw_only=True):
    """All findings about two runs, in reading order."""

    baseline: RunLabel
    candidate: RunLabel
    mark: Mark | None
    headline: str
    warnings: tuple[str, ...]
    differs: tuple[DifferenceFinding, ...]
    no_difference: str | None
    """Said if nothing differs."""
    metrics: tuple[PairedFinding, ...]
    """Worse ones first, then better ones, then those about which nothing can be said yet."""
    flags: tuple[PairedFinding, ...]
    """Those that moved."""
    other_flags: str | None
    amounts: tuple[AmountFinding, ...]
    flipped: FlippedCases
    slices: SlicesFinding | None
    next_steps: tuple[NextStep, ...]
    """To be done in this order."""


class ScoresFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one case on one metric in both runs."""

    metric: str
    text: str
    """Of all samples: `5, 5, 4 → 2, 2, 3: worse`."""
    mark: Mark | None


class ShownAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A typical sample of a case in one run."""

    title: str
    """`A, sample 2 of 5`."""
    answer: str
    """Words that only this answer has are marked `[-so-]` in the baseline's and `{+so+}` in the candidate's."""
    error: str | None
    scores: tuple[str, ...]
    """Each with the reason for it."""
    flags: tuple[str, ...]


class ShownCase(msgspec.Struct, frozen=True, kw_only=True):
    """A flipped case with an answer of each run."""

    test_case_id: str
    input: str | None
    scores: tuple[ScoresFinding, ...]
    """Of metrics on which it flipped first."""
    likeness: str
    """How the two answers differ, in words."""
    answers: tuple[ShownAnswer, ...]
    """The baseline's and the candidate's; one if there is no other, none if nothing is known."""


class SeveralCell(msgspec.Struct, frozen=True, kw_only=True):
    """One metric or flag of one candidate, compared with the baseline."""

    text: str
    mark: Mark | None


class SeveralRow(msgspec.Struct, frozen=True, kw_only=True):
    """One metric or flag in all runs."""

    name: str
    baseline: str
    candidates: tuple[SeveralCell, ...]


class SeveralFindings(msgspec.Struct, frozen=True, kw_only=True):
    """All findings about more than two runs, of which the first is the baseline."""

    runs: tuple[RunLabel, ...]
    rows: tuple[SeveralRow, ...]
    """Every metric, and the flags that moved."""
    notes: tuple[str, ...]
    next_steps: tuple[NextStep, ...]
    comparisons: tuple[ComparisonFindings, ...]
