"""Each metric, guardrail and slice of a verdict as a row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.gate_findings import GateRow
from prompt_evaluator.model.wording import decimal, many, money, p_value, percent, points, short_number, signed
from prompt_evaluator.reports.levels import digits

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.findings import Mark
    from prompt_evaluator.model.gate import GuardrailResult, GuardrailVerdict, MetricResult, SliceResult
    from prompt_evaluator.model.release import VerdictKind

    Write = Callable[[float], str]

MARKS: dict[VerdictKind | None, Mark] = {"pass": "good", "fail": "bad", "inconclusive": "warning", None: "bad"}
_RAIL_MARKS: dict[GuardrailVerdict, Mark | None] = {
    "pass": "good",
    "fail": "bad",
    "inconclusive": None,
    "not_measured": None,
}
_RAIL_WORDS: dict[GuardrailVerdict, str] = {
    "pass": "pass",
    "fail": "fail",
    "inconclusive": "no alarm",
    "not_measured": "not measured",
}
_SHARE = (0.0, 1.0)
_MINUS = "\N{MINUS SIGN}"


def metric_row(name: str, found: MetricResult) -> GateRow:
    share = found.scale == _SHARE
    places = digits(found.scale)
    value: Write = percent if share else lambda number: decimal(number, places)
    change: Write = points if share else lambda number: signed(number, places)
    amount: Write = (lambda number: points(number).lstrip("+")) if share else short_number
    return GateRow(
        name=name,
        mark=MARKS[found.verdict],
        word=f"not measured in the {found.missing}" if found.missing else found.verdict,
        levels=_levels(found.baseline, found.candidate, value),
        difference=change(found.difference) if found.difference is not None else "",
        interval=_interval(found.low, found.high, change),
        margin=amount(found.margin),
    )


def guardrail_row(name: str, found: GuardrailResult) -> GateRow:
    value, change = _units(found)
    return GateRow(
        name=name,
        mark=_RAIL_MARKS[found.verdict],
        word=f"not measured in the {found.missing}" if found.missing else _RAIL_WORDS[found.verdict],
        levels=_levels(found.baseline, found.candidate, value),
        difference=change(found.difference) if found.difference is not None else "",
        interval=_interval(found.low, found.high, change),
        margin=change(found.margin).lstrip("+"),
    )


def slice_row(found: SliceResult, metric: MetricResult) -> GateRow:
    share = metric.scale == _SHARE
    places = digits(metric.scale)
    change: Write = points if share else lambda number: signed(number, places)
    p = p_value(found.p_value) if found.p_value is not None else ""
    return GateRow(
        name=f"{found.key} = {found.value}: {found.metric}",
        mark="bad" if found.verdict == "fail" else None,
        word=found.verdict,
        levels="",
        difference=change(found.difference),
        interval="",
        margin=points(found.margin).lstrip("+") if share else short_number(found.margin),
        notes=tuple(filter(None, (many(found.cases, "case"), p))),
    )


def _units(found: GuardrailResult) -> tuple[Write, Write]:
    match found.kind:
        case "cost":
            return money, lambda value: f"{_MINUS if value < 0 else '+'}{money(abs(value))}" if value else "$0"
        case "latency":
            return lambda value: f"{value:,.0f} ms", lambda value: f"{signed(value, 0)} ms"
        case _:
            return percent, points


def _levels(baseline: float | None, candidate: float | None, value: Write) -> str:
    return " → ".join("none" if each is None else value(each) for each in (baseline, candidate))


def _interval(low: float | None, high: float | None, change: Write) -> str:
    if low is None or high is None:
        return ""
    start = change(low)
    return f"{start.partition(' ')[0] if ' ' in start else start} to {change(high)}"
