"""The page of the release harness as Markdown, for a ticket or a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import decimal
from prompt_evaluator.reports.harness_gate_markdown import harness_gate_markdown
from prompt_evaluator.reports.markdown_parts import cell, figures, first_rows, joined, left_out, said, table

if TYPE_CHECKING:
    from prompt_evaluator.app.serving.harness_page import ConfigRow, HarnessPage

_ROOM = 6_000
_TITLES = ("", "Configuration", "Completion", "95 % interval", "Retries", "Incidents", "Latency", "Errors")
_SYNTHETIC = "SYNTHETIC: made up offline by the mock. These are not a model's results."


def harness_markdown(page: HarnessPage) -> str:
    """The verdict of the gate, then the configurations, best first."""
    run = page.facts.run
    rows, more = first_rows([_row(each) for each in page.configs], _ROOM)
    about = f"Run {run.run_id} of the release harness, {run.timestamp[:16].replace('T', ' ')}"
    return joined(
        harness_gate_markdown(page.outcome, page.facts.noise),
        said(about),
        table(_TITLES, rows),
        left_out(more, "configuration") if more else "",
        said(_SYNTHETIC) if run.synthetic else "",
    )


def _row(row: ConfigRow) -> tuple[str, ...]:
    found, interval = row.facts.summary, row.facts.interval
    between = "" if interval is None else f"{decimal(interval[0], 0)} to {decimal(interval[1], 0)} %"
    return (
        figures(str(row.place)),
        cell(found.config_id),
        _number(found.task_completion_rate, 1, " %"),
        figures(between),
        _number(found.retries_per_task, 2, ""),
        figures(f"{found.hallucination_incidents:,}"),
        _number(found.latency_avg_ms, 0, " ms"),
        figures(f"{found.errors:,}"),
    )


def _number(value: float | None, digits: int, unit: str) -> str:
    return "" if value is None else figures(f"{decimal(value, digits)}{unit}")
