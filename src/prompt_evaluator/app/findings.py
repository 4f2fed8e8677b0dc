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
    from prompt_evaluator.reports.cases import CaseScores, FlagCounts


def findings(outcome: Outcome, *, seen_from: Path | None = None) -> Findings:
    """Findings about a run.

    Args:
        outcome: How the run ended.
        seen_from: The folder that paths and commands are relative to; the working directory by default.
    """
    return runs.run_findings(
        outcome.record,
        outcome.result,
        main_file=outcome.main_file,
        seen_from=seen_from or Path.cwd(),
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


def resume_command(outcome: Outcome) -> tuple[str, ...]:
    """The arguments of the command that runs unfinished samples and retries failed ones."""
    return next_step.resume_command(outcome.record, outcome.result)
