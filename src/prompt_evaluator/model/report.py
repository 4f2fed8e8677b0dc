"""Reports on a run or on two: everything they say, as data. Texts are raw: whoever writes a format escapes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

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
"""Characters of an input, reference or answer that a report shows."""


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
    """A case whose samples differ on a metric."""

    test_case_id: str
    metric: str
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
    """What varies: the answers, or the judge about the same answer; unknown if it was asked once."""


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to run the same again."""

    facts: RunFacts
    version: str
    """Of this program."""
    python: str
    command: str | None
    """As typed; None if the run was not started by a command."""
    folder: str | None
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
    """The widest first; at most `MOST_CASES`."""
    varying_cases: int
    """How many there are in all."""
    worst: tuple[ReportCase, ...]
    """At most `MOST_CASES`, the worst first."""
    failing_cases: int
    slices: tuple[SliceCell, ...]
    """Those that differ most certainly from the rest first."""
    reproduction: Reproduction
    charts: tuple[Chart, ...]
    no_charts: str | None
    """Why there are none, and how to get them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareReport:
    """Everything a report on two runs says."""

    title: str
    made_at: str
    comparison: Comparison
    findings: ComparisonFindings
    flipped: tuple[ShownCase, ...]
    """At most `MOST_CASES`, the most certain drop first."""
    baseline: Reproduction
    candidate: Reproduction
    charts: tuple[Chart, ...]
    no_charts: str | None


class RefusedReport(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs that cannot be compared."""

    dataset_name: str | None
    """Of the candidate."""
    reason: str
    """A sentence."""
    made_at: str
    version: str
    """Of this program."""
