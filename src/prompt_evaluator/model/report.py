"""Reports on a run or on two: everything they say, as data. Texts are raw; each format escapes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from prompt_evaluator.model.chart import Chart, SliceCell
from prompt_evaluator.model.comparison import ComparedAnswer, RunFacts
from prompt_evaluator.model.findings import CaseFindings, Findings

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.comparison_findings import ComparisonFindings, ShownCase

MOST_CASES = 20
"""Cases shown with their answers. The rest is one command away."""
MOST_TEXT = 4_000
"""Characters of an input, reference, answer or reason that a report shows."""
MOST_ANSWERS = 5
"""Samples of one case that are shown."""


class CutText(NamedTuple):
    """The beginning of a text that may be long."""

    start: str | None
    length: int | None
    """Of the whole text."""

    @classmethod
    def of(cls, text: str | None, most: int = MOST_TEXT) -> CutText:
        """Cut a text."""
        return cls(text and text[:most], len(text) if text else None)

    @property
    def shown(self) -> str | None:
        """The beginning, and how much is left out."""
        if self.start is None or self.length is None or self.length <= len(self.start):
            return self.start
        return f"{self.start}… [{self.length - len(self.start):,} more characters]"


class VaryingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose samples differ on a metric, as stored."""

    test_case_id: str
    metric: str
    mean: float
    std: float
    count: int
    low: float
    high: float
    passes: int
    repeat_std: float | None
    judged: bool
    """Whether a judge gave the scores."""


class WorstAnswers(NamedTuple):
    """Some samples of a case, the worst first, and how many there are beside them."""

    answers: tuple[ComparedAnswer, ...]
    left_out: int


class ReportCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case worth reading."""

    test_case_id: str
    file: str | None
    line: int | None
    input: str
    reference: str | None
    findings: CaseFindings
    answers: tuple[ComparedAnswer, ...]
    """The samples, the worst first; texts are cut to `MOST_TEXT`."""
    answers_left_out: int


class VaryingCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose samples differ on a metric: its std is moderate or high, or only some of them pass."""

    test_case_id: str
    metric: str
    """The one with the widest spread, if there are several."""
    mean: float
    std: float
    count: int
    low: float
    high: float
    """Lowest and highest score."""
    passes: int
    repeat_std: float | None
    """How much the judge disagrees with itself about one answer; None if it was asked once."""
    cause: Literal["samples", "judge", "unknown"]
    """What varies: the answers, or the judge about the same answer, who then explains at least half of the variance;
    unknown if it was asked once."""


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to run the same again."""

    facts: RunFacts
    version: str
    """Of this program."""
    python: str
    command: str | None
    """As typed; None if the run was not started by a command."""
    folder: str | None
    """Where it was typed, and its relative paths start."""
    metrics: dict[str, Any]
    """Definitions of the metrics outside the rubric, by name."""


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report on one run says."""

    title: str
    made_at: str
    """ISO 8601, UTC."""
    findings: Findings
    facts: RunFacts
    varying: tuple[VaryingCase, ...]
    """The widest first; at most `MOST_CASES`, each case once."""
    varying_cases: int
    """How many there are in all."""
    worst: tuple[ReportCase, ...]
    """At most `MOST_CASES`: failing cases first, then flagged ones, those with errors, and those with low scores."""
    failing_cases: int
    """How many there are in all: fewer than half of the scored samples pass, on some metric."""
    slices: tuple[SliceCell, ...]
    """Those that differ most certainly from the rest first."""
    reproduction: Reproduction
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareReport:
    """Everything a report on two runs says."""

    title: str
    made_at: str
    comparison: Comparison
    findings: ComparisonFindings
    flipped: tuple[ShownCase, ...]
    """At most `MOST_CASES`, the most certain drop first. If few flipped, the next drops follow."""
    baseline: Reproduction
    candidate: Reproduction
    charts: tuple[Chart, ...]


class RefusedReport(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs that cannot be compared."""

    dataset_name: str | None
    """Of the candidate."""
    reason: str
    """A sentence."""
    made_at: str
    version: str
    """Of this program."""
