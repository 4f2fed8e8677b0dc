"""A verdict of the gate in Markdown: for the summary of a step, and for the comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import sentence
from prompt_evaluator.reports.markdown_parts import (
    ALERTS,
    MARKS,
    alert,
    below,
    bullets,
    cell,
    details,
    figures,
    first_rows,
    joined,
    left_out,
    said,
    size,
    steps,
    table,
)
from prompt_evaluator.reports.pr_comment import MOST_BYTES, comment_footer, comment_marker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.gate_findings import GateFindings, GateRow

_ROOM = 12_000
"""Bytes of a table, and of all reasons."""
_TITLES = ("Baseline → candidate", "Verdict", "Difference (interval)", "Margin")


def gate_markdown(found: GateFindings, name: str = "") -> str:
    """The verdict first, then why, the numbers and the policy.

    Args:
        found: The findings.
        name: What was gated, such as a dataset.
    """
    start = f"{name}: " if name else ""
    reasons, more = first_rows([[said(each)] for each in found.reasons], _ROOM)
    lines = [line for (line,) in reasons] + ([left_out(more, "reason")] if more else [])
    unmeasured = said(sentence(found.not_measured)) if found.not_measured else ""
    others = said(sentence(found.other_slices)) if found.other_slices else ""
    policy = details("Policy", [bullets(said(sentence(each)) for each in found.policy)])
    return joined(
        alert(ALERTS[found.mark], f"{start}{found.headline}", [bullets(lines)] if lines else []),
        *(f"⚠️ {said(each)}" for each in found.warnings),
        _table("Metric", found.metrics),
        joined(_table("Guardrail", found.guardrails), unmeasured),
        joined(_table("Slice", found.slices), others),
        policy,
        *steps(found.next_steps),
    )


def gate_comment(found: GateFindings, dataset: str | None, made_at: str, version: str) -> str:
    """The whole comment, found again by its marker; without the tables if it would be too long."""
    about = dataset or "a dataset"
    marker, footer = comment_marker(about, "gate"), comment_footer(made_at, version)
    body = gate_markdown(found, f"Gate on {about}")
    if size(body) > MOST_BYTES - size(marker) - size(footer):
        body = alert(ALERTS[found.mark], f"Gate on {about}: {found.headline}")
    return joined(marker, body, footer) + "\n"


def _table(title: str, rows: Sequence[GateRow]) -> str:
    if not rows:
        return ""
    kept, more = first_rows([_row(each) for each in rows], _ROOM)
    shown = table(("", title, *_TITLES), kept) if kept else ""
    return joined(shown, left_out(more, title.lower()) if more else "")


def _row(found: GateRow) -> tuple[str, ...]:
    interval = f" ({found.interval})" if found.interval else ""
    notes = "".join(below(cell(note)) for note in found.notes)
    return (
        MARKS[found.mark],
        cell(found.name),
        figures(found.levels),
        cell(found.word) + notes,
        figures(f"{found.difference}{interval}"),
        figures(found.margin),
    )
