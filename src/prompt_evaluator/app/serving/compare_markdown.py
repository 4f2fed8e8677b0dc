"""A comparison as Markdown, for a ticket or a message."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from prompt_evaluator.app.clock import now
from prompt_evaluator.model.report import CompareReport, Reproduction
from prompt_evaluator.reports.markdown_compare import CompareSections
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from prompt_evaluator.app.serving.compared_pair import ComparedPair
    from prompt_evaluator.model.comparison import RunFacts


def comparison_markdown(pair: ComparedPair) -> str:
    """The verdict, the runs, the metrics, the flipped cases and the cost."""
    of = pair.comparison
    sections = CompareSections(
        CompareReport(
            title="",
            made_at=now(),
            comparison=of,
            findings=pair.findings,
            flipped=(),
            baseline=_reproduction(of.baseline),
            candidate=_reproduction(of.candidate),
            charts=(),
        )
    )
    parts = (
        sections.verdict(),
        sections.runs(),
        sections.warnings(),
        sections.metrics(),
        sections.flags(),
        sections.flipped(),
        sections.amounts(),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _reproduction(facts: RunFacts) -> Reproduction:
    return Reproduction(
        facts=facts, version=__version__, python=platform.python_version(), command=None, folder=None, metrics={}
    )
