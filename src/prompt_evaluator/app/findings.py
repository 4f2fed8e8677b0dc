"""What to say about a run or a case, for whoever shows it."""

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
    """Everything to say about a run.

    Args:
        outcome: How the run ended.
        seen_from: The folder in which paths and commands will be read; the working directory where none is given.
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
    """Everything to say about one case of a run, from its numbers by metric and its counts by flag."""

    def scale_of(metric: str) -> tuple[float, float]:
        scale = plan.scale(metric)
        return scale.low, scale.high

    return cases.case_findings(test_case_id, metrics, flags, scale_of)


def digits(scale: tuple[float, float]) -> int:
    """How many digits after the point a score on this scale deserves."""
    return levels.digits(scale)


def resume_command(outcome: Outcome) -> tuple[str, ...]:
    """The arguments of the command that does what is missing, and again what failed."""
    return next_step.resume_command(outcome.record, outcome.result)
