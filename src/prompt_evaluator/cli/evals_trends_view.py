"""The harness's trends on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.text import cells, clean, pad
from prompt_evaluator.cli.trend_view import measured, metric_parts, paragraph, spark
from prompt_evaluator.model.trend import FEWEST_RUNS
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.harness_trend import ConfigTrend, HarnessTrends

_WIDEST_TEXT = 110
_NAMES = {
    "task_completion_rate": "completion, %",
    "retries_per_task": "retries per task",
    "hallucination_incidents": "hallucinations",
    "latency_avg_ms": "latency, ms",
}


def harness_trend_lines(trends: HarnessTrends, width: int, *, full: bool) -> list[str]:
    """All configurations, in coloured lines narrower than `width`; one metric in full, or all in short."""
    width -= 1
    text_width = min(width, _WIDEST_TEXT)
    notes = [*trends.notes, *(["There are older runs: use --limit to see more."] if trends.more_runs else [])]
    parts: list[list[str]] = []
    for config in trends.configs:
        parts += _full(config, width) if full else [_short(config, width)]
    if not full:
        first, last = trends.first[:10], trends.last[:10]
        when = f", {first} to {last}" if first != last else f" on {first}"
        parts.insert(0, paragraph([f"{many(trends.runs, 'run')}{when}"], text_width))
        if trends.runs < FEWEST_RUNS:
            notes.append(f"Finding changes needs {FEWEST_RUNS} runs.")
    parts.append(paragraph(notes, text_width))
    return [line for part in parts if part for line in (*part, "")][:-1]


def _full(config: ConfigTrend, width: int) -> Iterator[list[str]]:
    for metric in config.metrics:
        yield from metric_parts(metric, config.findings[metric.name], clean(config.config_id), width)


def _short(config: ConfigTrend, width: int) -> list[str]:
    """A line of bars for each metric, with a sentence below if it changed."""
    names = max(map(cells, _NAMES.values()))
    values = {metric.name: measured(metric.points[-1], metric.digits) for metric in config.metrics}
    widest = max(map(cells, values.values()))
    lines = [click.style(clean(config.config_id), bold=True)]
    for metric in config.metrics:
        bars = spark(metric, width - names - widest - 6)
        lines.append(f"  {pad(_NAMES[metric.name], names)}  {pad(values[metric.name], widest)}  {bars}")
        if metric.changes:
            said = paragraph([config.findings[metric.name].sentence], min(width, _WIDEST_TEXT) - 4)
            lines += [f"    {line}" for line in said]
    return lines
