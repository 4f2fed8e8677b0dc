"""The verdict of the harness's gate in Markdown: for the summary of a step, and for the comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.reports.harness_gate import TITLES, heading, moved_rows, unmoved
from prompt_evaluator.reports.markdown_parts import (
    ALERTS,
    MARKS,
    alert,
    bullets,
    cell,
    figures,
    first_rows,
    joined,
    left_out,
    said,
    table,
)
from prompt_evaluator.reports.pr_comment import comment_footer, comment_marker

if TYPE_CHECKING:
    from prompt_evaluator.model.findings import Mark
    from prompt_evaluator.model.harness_gate import GateOutcome, GateVerdict

_ROOM = 8_000
"""Bytes of a table, and of all reasons."""
_ABOUT = "release harness"
_MARKS: dict[GateVerdict, Mark] = {"pass": "good", "fail": "bad", "refused": "bad"}
_TITLES = ("", "Configuration", "Metric", "Baseline", "Latest", "Change", "Limit")


def harness_gate_markdown(outcome: GateOutcome) -> str:
    """The verdict first, then why, and what moved."""
    reasons, more = first_rows([[said(each)] for each in outcome.reasons], _ROOM)
    lines = [line for (line,) in reasons] + ([left_out(more, "reason")] if more else [])
    return joined(
        _verdict(outcome, [bullets(lines)] if lines else []),
        _moved(outcome),
        *(said(each) for each in outcome.notes),
        said(about) if (about := heading(outcome)) else "",
    )


def harness_gate_comment(outcome: GateOutcome, made_at: str, version: str) -> str:
    """The whole comment, found again by its marker."""
    footer = comment_footer(made_at, version)
    return joined(comment_marker(_ABOUT, "gate"), harness_gate_markdown(outcome), footer) + "\n"


def _verdict(outcome: GateOutcome, more: list[str]) -> str:
    return alert(ALERTS[_MARKS.get(outcome.verdict)], TITLES[outcome.verdict], more)


def _moved(outcome: GateOutcome) -> str:
    rows = [
        (
            MARKS["bad" if each.exceeded else "good"],
            cell(each.config_id),
            each.metric,
            *map(figures, (each.baseline, each.candidate, each.change, each.limit)),
        )
        for each in moved_rows(outcome)
    ]
    kept, more = first_rows(rows, _ROOM)
    return joined(
        table(_TITLES, kept) if kept else "", left_out(more, "metric") if more else "", unmoved(outcome) or ""
    )
