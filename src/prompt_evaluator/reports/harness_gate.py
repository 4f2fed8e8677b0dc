"""What the harness's gate says: a title, and the metrics that moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.harness_gate import FAILED, PASSED, SKIPPED, MovedRow
from prompt_evaluator.model.wording import decimal, many, short_number, signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.harness_gate import GateOutcome, GateVerdict, Movement

TITLES: dict[GateVerdict, str] = {
    "pass": PASSED,
    "fail": FAILED,
    "skipped": SKIPPED,
    "refused": "The eval regression gate has no verdict:",
}
_MOST_DIGITS = 9
_METRICS = {
    "task_completion_rate": ("completion, %", 2),
    "latency_avg_ms": ("latency, ms", 0),
    "hallucination_incidents": ("hallucinations", 0),
    "retries_per_task": ("retries per task", 2),
}


def moved_rows(outcome: GateOutcome) -> list[MovedRow]:
    """The metrics that moved, in either direction."""
    return [limit_row(each) for each in outcome.movements if each.difference]


def unmoved(outcome: GateOutcome) -> str | None:
    """How many metrics did not move; None if all did, or nothing was compared."""
    same = sum(not each.difference for each in outcome.movements)
    if same and same == len(outcome.movements):
        configurations = many(len({each.config_id for each in outcome.movements}), "configuration")
        return f"None of the four metrics of {configurations} changed."
    return f"{many(same, 'other metric')} did not change." if same else None


def heading(outcome: GateOutcome) -> str | None:
    """Which runs were compared."""
    if outcome.run_id is None or outcome.baseline_run_id is None:
        return None
    return "".join(_heading(outcome))


def _heading(outcome: GateOutcome) -> Iterator[str]:
    yield f"Run {outcome.run_id}{_when(outcome.timestamp)} against {outcome.baseline_run_id}"
    yield f"{_when(outcome.baseline_timestamp)}, {outcome.baseline}"


def _when(timestamp: str | None) -> str:
    return f" ({timestamp[:16].replace('T', ' ')})" if timestamp else ""


def limit_row(moved: Movement) -> MovedRow:
    """A metric before and after, and its limit."""
    name, digits = _METRICS[moved.metric]
    digits = _telling_digits(moved, digits)
    sign = "\N{MINUS SIGN}" if moved.metric == "task_completion_rate" else "+"
    return MovedRow(
        config_id=moved.config_id,
        metric=name,
        baseline=decimal(moved.baseline, digits),
        candidate=decimal(moved.candidate, digits),
        change=signed(moved.difference, digits),
        limit=f"{sign}{short_number(moved.limit)}" if moved.limit else "0",
        exceeded=moved.exceeded,
    )


def _telling_digits(moved: Movement, digits: int) -> int:
    """Enough of them to see the change, and on which side of the limit it is."""
    size = abs(moved.difference)
    if not size:
        return digits
    for each in range(digits, _MOST_DIGITS):
        shown = round(size, each)
        if shown and (shown > moved.limit or not moved.exceeded):
            return each
    return _MOST_DIGITS
