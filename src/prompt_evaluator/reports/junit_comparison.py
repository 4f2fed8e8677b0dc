"""Two runs as test results: a metric, a flag or a case that got worse is a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.reports.comparison_cases import flipped_case
from prompt_evaluator.reports.comparison_verdicts import Letters, flag_finding, metric_finding
from prompt_evaluator.reports.junit import Problem, Suite, TestResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model.comparison import CaseComparison, Comparison, MetricComparison, RunFacts
    from prompt_evaluator.model.comparison_findings import PairedFinding

    Place = tuple[str | None, int | None]

_LETTERS = Letters("A", "B")
_TOO_FEW = "Too few samples to tell: that takes three samples of the case in each run."


def comparison_suite(comparison: Comparison) -> Suite:
    baseline, candidate = comparison.baseline, comparison.candidate
    known = {"common_cases": str(comparison.common_cases)}
    for letter, facts in (("baseline", baseline), ("candidate", candidate)):
        known |= {f"{letter}.{name}": value for name, value in _facts(facts).items() if value is not None}
    return Suite(
        name=f"{candidate.dataset_name or 'in memory'}: {candidate.name} compared with {baseline.name}",
        started_at=candidate.started_at,
        properties=known,
    )


def overall_results(comparison: Comparison) -> Iterator[TestResult]:
    """Each metric and flag over all common cases."""
    for name, metric in comparison.metrics.items():
        yield _overall("metrics", metric_finding(name, metric, _LETTERS))
    for name, flag in comparison.flags.items():
        yield _overall("flags", flag_finding(name, flag, _LETTERS))


def compared_case(case: CaseComparison, metric: MetricComparison, dataset: str | None, place: Place) -> TestResult:
    """One case on one metric."""
    shown = flipped_case(case, metric)
    problem = None
    if case.class_ == "worse":
        problem = Problem(kind="failure", type="worse", message=f"{case.metric}: {shown.text}")
    elif case.class_ == "too_few":
        problem = Problem(kind="skipped", message=_TOO_FEW)
    return TestResult(
        classname=f"{dataset or 'in memory'}.{case.metric}",
        name=case.test_case_id,
        file=place[0],
        line=place[1],
        properties={"baseline": repr(case.baseline), "candidate": repr(case.candidate), "class": case.class_},
        problem=problem,
    )


def _overall(kind: str, found: PairedFinding) -> TestResult:
    numbers = ", ".join(filter(None, (found.means, found.difference, found.interval, found.p)))
    problem = None
    if found.verdict == "worse":
        problem = Problem(kind="failure", type="worse", message=f"{found.name}: {found.word} ({numbers})")
    properties = {"verdict": found.verdict, "numbers": numbers}
    return TestResult(classname=kind, name=found.name, properties=properties, problem=problem)


def _facts(facts: RunFacts) -> Mapping[str, str | None]:
    hashes = {name: getattr(facts, name) for name in ("dataset_hash", "prompt_hash", "rubric_hash", "judge_hash")}
    return {
        "run_id": facts.run_id,
        "file": facts.path,
        "model": facts.generator_model,
        "judge": facts.judge_model,
        "prompt_version": facts.prompt_version,
        **{name: f"sha256:{value}" if value else None for name, value in hashes.items()},
    }
