"""Findings about a run or a case, for front ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.reports import cases, levels, next_step, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.findings import CaseFindings, Findings
    from prompt_evaluator.model.outcome import Outcome
    from prompt_evaluator.model.trend import TrendFindings, Trends
    from prompt_evaluator.reports.cases import CaseScores, FlagCounts


def findings(
    outcome: Outcome, *, seen_from: Path | None = None, program: tuple[str, ...] = next_step.PROGRAM
) -> Findings:
    """Findings about a run.

    Args:
        outcome: How the run ended.
        seen_from: The folder that paths and commands are relative to; the working directory by default.
        program: How to start this program from there.
    """
    return runs.run_findings(
        outcome.record,
        outcome.result,
        main_file=outcome.main_file,
        reader=next_step.Reader(seen_from or Path.cwd(), program),
        stopped_by=outcome.stopped_by,
    )


def case_findings(
    test_case_id: str, plan: RunPlan, *, metrics: Mapping[str, CaseScores], flags: Mapping[str, FlagCounts]
) -> CaseFindings:
    """Findings about one case of a run.

    Args:
        test_case_id: The case.
        plan: The plan of its run.
        metrics: Maps metric name to statistics.
        flags: Maps flag name to counts.
    """

    def scale_of(metric: str) -> tuple[float, float]:
        scale = plan.scale(metric)
        return scale.low, scale.high

    return cases.case_findings(test_case_id, metrics, flags, scale_of)


def digits(scale: tuple[float, float]) -> int:
    """Decimal places to show for a score on this scale."""
    return levels.digits(scale)


def how_to_continue(outcome: Outcome, program: tuple[str, ...] = next_step.PROGRAM) -> str:
    """A sentence with the command that runs unfinished samples and retries failed ones, for the working directory."""
    reader = next_step.Reader(Path.cwd(), program)
    step = next_step.continuation(outcome.record.plan, outcome.result, reader)
    before = step.before or "continue with:"
    return f"{before[0].upper()}{before[1:]} {step.text}"


def trend_findings(
    trends: Trends, *, program: tuple[str, ...], options: tuple[str, ...] = (), filters: tuple[str, ...] = ()
) -> TrendFindings:
    """Findings about runs over time.

    Args:
        trends: The runs.
        program: How to start this program.
        options: Options that the next command repeats, such as `--config`.
        filters: Options that say which runs to show, repeated if the next command shows them again.
    """
    from prompt_evaluator.reports import trends as reports  # noqa: PLC0415 - most commands do not need it

    return reports.trend_findings(trends, program=program, options=options, filters=filters)
