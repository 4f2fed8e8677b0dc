"""The noise gate: what a release must not get worse in, and what was found."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from prompt_evaluator.model.bounds import GATE_LEVEL, GATE_MARGIN, SCORE
from prompt_evaluator.model.comparison import Method, SideName
from prompt_evaluator.model.release import VerdictKind

GuardrailVerdict = Literal["pass", "fail", "inconclusive", "not_measured"]
"""`inconclusive`: neither shown to be worse nor to be within the margin; this does not keep a run from passing."""
GuardrailKind = Literal["flag", "errors", "cost", "latency"]
PASSED, FAILED, REFUSED, UNDECIDED = 0, 1, 3, 4
"""Exit codes; 2 is a usage error."""
Inconclusive = Literal["pass", "fail", "4"]
"""Exit as for this verdict, or with a code of its own, if there is too little data to decide."""
EXIT_CODES: dict[VerdictKind, int] = {"pass": PASSED, "fail": FAILED, "inconclusive": UNDECIDED}
RATE_MARGIN = 0.05
"""On a scale from 0 to 1."""
SCALE_MARGIN = 0.1
"""On a scale from 1 to 5; other scales use it in proportion."""
_USUAL_SPAN = 4.0
_Level = Annotated[float, GATE_LEVEL.meta]
_Margin = Annotated[float, GATE_MARGIN.meta]


def default_margin(scale: tuple[float, float]) -> float:
    """The largest drop of a metric's mean that may pass: 5 points of a rate, 0.1 on a scale from 1 to 5."""
    if scale == (0.0, 1.0):
        return RATE_MARGIN
    return SCALE_MARGIN * (scale[1] - scale[0]) / _USUAL_SPAN


class Guardrails(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must not get much worse beside the metrics. A margin of None turns a guardrail off."""

    level: _Level = 0.01
    """Probability that any guardrail or slice fails by chance."""
    flags: _Margin | None = 0.05
    """How much more often a flag may be raised, as a share of samples."""
    flag_margins: dict[str, _Margin | None] = {}
    """For single flags."""
    errors: _Margin | None = 0.05
    """How many more samples may lack an answer or a score, as a share."""
    cost: _Margin | None = 0.2
    """By which share the mean may grow."""
    latency: _Margin | None = None
    """The same. Off, because how fast a service answers is a matter of the hour as much as of the prompt or model."""

    def flag_margin(self, name: str) -> float | None:
        return self.flag_margins.get(name, self.flags)


class GatePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has to meet to pass."""

    metrics: dict[str, _Margin | None] | None = None
    """The metrics, or flags, that decide, with their margins; None for a default margin. By default all metrics."""
    level: _Level = 0.05
    """Probability that a run that did not get worse fails because of its metrics."""
    guardrails: Guardrails = Guardrails()
    slices: tuple[str, ...] = ()
    """Metadata keys: no group of cases with the same value may get worse."""
    case_minimum: dict[str, Annotated[float, SCORE.meta]] = {}
    """By metric: no case's mean may fall below this."""
    baseline: str | None = None
    """The only run to compare with."""
    path: str | None = None
    """The file it was read from; None for the built-in one."""


class MetricResult(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that decides. Differences are candidate minus baseline."""

    difference: float | None
    low: float | None
    high: float | None
    """Each bound is on the wrong side of the truth with the probability of the policy's level."""
    margin: float
    verdict: VerdictKind
    more_samples: int | None
    """Per case: about how many would decide, if the verdict is `inconclusive`; None if no number would or is known."""
    more_cases: int | None = None
    smallest_drop: float | None = None
    """The smallest true drop that would fail four times in five, with the cases and samples at hand."""
    cases: int = 0
    """That both runs measured."""
    baseline: float | None = None
    candidate: float | None = None
    """Means."""
    p_value: float | None = None
    """One-sided, that the candidate is not worse; corrected for the number of metrics (Holm)."""
    method: Method | None = None
    scale: tuple[float, float] | None = None
    lower_is_better: bool = False
    missing: SideName | None = None
    """The run that did not measure it; then it fails."""
    unscored: tuple[int, int] = (0, 0)
    """Scores that the baseline and the candidate lack."""


class GuardrailResult(msgspec.Struct, frozen=True, kw_only=True):
    """A guardrail. Differences are candidate minus baseline; more is worse."""

    difference: float | None
    low: float | None
    high: float | None
    margin: float
    """In the unit of the difference."""
    verdict: GuardrailVerdict
    kind: GuardrailKind
    cases: int = 0
    baseline: float | None = None
    candidate: float | None = None
    p_value: float | None = None
    """One-sided; corrected for all guardrails and slices (Holm)."""
    missing: SideName | None = None


class SliceResult(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over the cases with one value of a metadata key."""

    key: str
    value: str
    metric: str
    cases: int
    difference: float
    margin: float
    p_value: float | None
    """One-sided; corrected for all guardrails and slices (Holm)."""
    verdict: Literal["fail", "pass"]
    """`pass` if it was not shown to be worse."""


class FallenCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose mean fell below the minimum."""

    test_case_id: str
    metric: str
    baseline: float
    candidate: float
    minimum: float


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a run, and how it came about. The order of fields is that of `--json`."""

    verdict: VerdictKind | None
    """None if there is no usable data."""
    exit_code: int
    metrics: dict[str, MetricResult]
    guardrails: dict[str, GuardrailResult]
    reasons: tuple[str, ...]
    """One sentence each."""
    baseline: str = ""
    candidate: str = ""
    """Names of the runs."""
    cases: int = 0
    """Common cases."""
    policy: GatePolicy = GatePolicy()
    slices: tuple[SliceResult, ...] = ()
    fallen_cases: tuple[FallenCase, ...] = ()
    """The first twenty."""
    fallen: int = 0
    """How many cases fell below the minimum."""
    warnings: tuple[str, ...] = ()

    def with_inconclusive(self, meaning: Inconclusive) -> GateResult:
        """The same with the exit code that an inconclusive verdict is to have."""
        if self.verdict != "inconclusive":
            return self
        return msgspec.structs.replace(self, exit_code={"pass": PASSED, "fail": FAILED, "4": UNDECIDED}[meaning])


class PlannedSize(msgspec.Struct, frozen=True, kw_only=True):
    """So many samples of so many cases."""

    samples: int
    cases: int | None
    """None if no number that anybody has would do."""


class MetricPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to gate on a metric."""

    margin: float
    scale: tuple[float, float]
    within: float
    """Variance between samples of the same case."""
    from_one_sample: bool
    """Whether samples could only be compared across cases, so that `within` is more than it is."""
    smallest_drop: float | None
    """That would fail four times in five with the cases and samples of the run."""
    passes: bool
    """Whether the cases and samples of the run are enough."""
    cases_needed: int | None
    samples_needed: int | None
    """In total, with the run's number of the other."""
    sizes: tuple[PlannedSize, ...]
    """Other ways."""


class GatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """How many cases and samples let a run that did not get worse pass four times in five."""

    run: str
    cases: int
    samples: int
    level: float
    power: float
    metrics: dict[str, MetricPlan]
