"""Findings about flags over all cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.findings import FlagFinding
from prompt_evaluator.reports.metrics import TOO_FEW_CASES

if TYPE_CHECKING:
    from prompt_evaluator.model.findings import Mark
    from prompt_evaluator.model.result import OverallFlag, RunResult

_MARKS: dict[str, Mark | None] = {"never": "good", "rare": None, "majority": "bad"}
_WORDS = {"never": "never raised", "majority": "most samples"}


def flag_findings(result: RunResult) -> tuple[FlagFinding, ...]:
    """Return findings in the result's order; empty if no sample was judged."""
    found = result.overall_flag_stats
    judged = any(stats.total_count for stats in found.values())
    return tuple(_finding(name, stats) for name, stats in found.items()) if judged else ()


def _finding(name: str, stats: OverallFlag) -> FlagFinding:
    judged = stats.true_proportion is not None
    band = (stats.band or "never") if judged else None
    return FlagFinding(
        name=name,
        mark="bad" if stats.above else _MARKS.get(band, "warning") if band else None,
        raised=stats.true_count,
        judged=stats.total_count,
        share=stats.true_proportion,
        interval=stats.interval,
        no_interval=TOO_FEW_CASES if judged and not stats.interval else None,
        band=band,
        text=_text(band, stats),
    )


def _text(band: str | None, stats: OverallFlag) -> str:
    if band is None:
        return "not judged"
    above = f", above {stats.fail_over * 100:g} %" if stats.above and stats.fail_over is not None else ""
    return f"{_WORDS.get(band, band)}{above}"
