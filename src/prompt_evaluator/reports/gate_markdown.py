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
    steps,
    table,
)
from prompt_evaluator.reports.pr_comment import comment_footer, comment_marker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model.gate_findings import GateFindings, GateRow

_ROOM = 8_000
"""Bytes of a table or a list, so that GitHub takes all of them together."""
_TITLES = ("Baseline → candidate", "Verdict", "Difference (interval)", "Margin")


def gate_markdown(found: GateFindings, name: str = "") -> str:
    """The verdict first, then why, the numbers and the policy.

    Args:
        found: The findings.
        name: What was gated, such as a dataset.
    """
    start = f"{name}: " if name else ""
    unmeasured = said(sentence(found.not_measured)) if found.not_measured else ""
    others = said(sentence(found.other_slices)) if found.other_slices else ""
    policy = details("Policy", [_list(map(sentence, found.policy), "line")])
    reasons = [_list(found.reasons, "reason")] if found.reasons else []
    return joined(
        alert(ALERTS[found.mark], f"{start}{found.headline}", reasons),
        *(f"⚠️ {said(each)}" for each in found.warnings),
        _table("Metric", found.metrics),
        joined(_table("Guardrail", found.guardrails), unmeasured),
        joined(_table("Slice", found.slices), others),
        policy,
        *steps(found.next_steps),
    )


def gate_comment(found: GateFindings, dataset: str | None, made_at: str, version: str) -> str:
    """The whole comment, found again by its marker."""
    about = dataset or "a dataset"
    body = gate_markdown(found, f"Gate on {about}")
    return joined(comment_marker(about, "gate"), body, comment_footer(made_at, version)) + "\n"


def _list(texts: Iterable[str], thing: str) -> str:
    kept, more = first_rows([[said(each)] for each in texts], _ROOM)
    return bullets([line for (line,) in kept] + ([left_out(more, thing)] if more else []))


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
