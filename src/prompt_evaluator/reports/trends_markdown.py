"""A metric over time as Markdown, for a ticket or a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import decimal
from prompt_evaluator.reports.markdown_parts import bullets, cell, figures, joined, said, table
from prompt_evaluator.reports.trends import SHORT_ID, minute
from prompt_evaluator.stats.distributions import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.trend import MetricFindings, MetricTrend, TrendPoint

_TITLES = ("When (UTC)", "Run", "Mean ± 95 %", "Model", "Prompt", "What changed")
_MOST_ROWS = 60


def trend_markdown(
    metric: MetricTrend, found: MetricFindings, heading: str, runs: Sequence[tuple[TrendPoint, str]]
) -> str:
    """The sentence, the changes, and a table of the newest runs.

    Args:
        metric: What was measured.
        found: What is said about it.
        heading: Which runs these are.
        runs: The oldest first, each with what changed there.
    """
    rows = [_row(point, text, metric.digits) for point, text in runs[-_MOST_ROWS:]]
    older = f"{len(runs) - _MOST_ROWS:,} older runs are not listed." if len(runs) > _MOST_ROWS else ""
    parts = (f"**{said(found.sentence)}**", said(heading), bullets(map(said, found.changes)))
    return joined(*parts, table(_TITLES, rows), older) + "\n"


def _row(point: TrendPoint, text: str, digits: int) -> list[str]:
    half = None if point.error is None else normal_quantile(0.975) * point.error
    mean = decimal(point.mean, digits) + ("" if half is None else f" ± {decimal(half, digits)}")
    name = point.run_id[:SHORT_ID] + (" (synthetic)" if point.synthetic else "")
    return [
        figures(minute(point.started_at)),
        cell(name),
        figures(mean),
        cell(point.generator_model or ""),
        cell(point.prompt_version or (point.prompt_hash or "")[:SHORT_ID]),
        cell(text),
    ]
