"""Sections of a report on one run in Markdown. Each is one block, or none if there is nothing to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import decimal, p_value, percent, short_number, signed
from prompt_evaluator.reports.levels import digits
from prompt_evaluator.reports.markdown_parts import (
    ALERTS,
    MARKS,
    alert,
    below,
    block,
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
from prompt_evaluator.reports.run_verdict import cases_failing, run_mark, run_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.chart import SliceCell
    from prompt_evaluator.model.comparison import ComparedAnswer
    from prompt_evaluator.model.findings import FlagFinding, MetricFinding, Scale
    from prompt_evaluator.model.report import ReportCase, RunReport, VaryingCase

_ROOM = 12_000
"""Bytes of a table, whose further rows are counted, and of a text."""
_SHOWN_FAILURES = 5
_NAMED = 3
_GUIDE_SCALE = (1.0, 5.0)
_CAUSES = {"samples": "the answers", "judge": "the judge", "unknown": "unknown: the judge was asked once"}


class RunSections:
    """Everything a report on one run says, by section."""

    def __init__(self, report: RunReport) -> None:
        self._report, self._found = report, report.findings

    def verdict(self, name: str = "") -> str:
        """Missed bars, then what was run, and what to know before reading any number."""
        head = self._found.headline
        first = run_verdict(self._report)
        more = [said(head.text), *(said(note.text) for note in head.notes)]
        more += [said(self._found.no_scores.text)] if self._found.no_scores else []
        return alert(ALERTS[run_mark(self._report)], f"{name}: {first}" if name else first, more)

    def metrics(self) -> str:
        found = self._found.metrics
        if not found:
            return ""
        titles = ("", "Metric", "Mean", "Passed", "95 % interval", "Spread", "Case means")
        kept, more = first_rows(map(_metric, found), _ROOM)
        return joined(table(titles, kept), left_out(more, "metric") if more else "")

    def flags(self) -> str:
        if not self._found.flags:
            return ""
        titles = ("", "Flag", "Share", "95 % interval", "Raised", "Band")
        kept, more = first_rows(map(_flag, self._found.flags), _ROOM)
        return joined(table(titles, kept), left_out(more, "flag") if more else "")

    def facts(self) -> str:
        """Errors, what was skipped, the judge, cost, and what the number of samples can tell."""
        found = self._found.facts
        if found is None:
            return ""
        lines: list[str] = []
        if found.errors:
            reasons = [f"\n  - {each.count:,} × {cell(each.message)}" for each in found.errors.failures]
            lines.append(f"⚠️ Errors: {said(found.errors.text)}{''.join(reasons[:_SHOWN_FAILURES])}")
        notes = (
            ("Skipped", found.skipped),
            ("Answers", found.answers),
            ("Parameters", found.parameters),
            ("Judge", found.judge),
        )
        lines += [f"{label}: {said(note.text)}" for label, note in notes if note]
        lines.append(f"Tokens and cost: {said(found.usage.text)}")
        lines += [f"Samples: {said(found.confidence.text)}"] if found.confidence else []
        return bullets(lines)

    def advice(self) -> str:
        return bullets(said(note.text) for note in self._found.advice)

    def varying(self) -> str:
        """Which cases vary, and what does."""
        found = self._report.varying
        if not found:
            return ""
        titles = ("Case", "Metric", "Mean", "Spread", "Scores", "Passed", "What varies")
        kept, more = first_rows(map(_varying, found), _ROOM)
        more += self._report.varying_cases - len(found)
        return joined(table(titles, kept), left_out(more, "case that varies") if more > 0 else "")

    def worst(self) -> str:
        """Says how many of the cases that fail are shown."""
        shown = len(self._report.worst)
        if not shown:
            return ""
        return f"{cases_failing(self._report)}. The worst {f'{shown} are' if shown > 1 else 'one is'}:"

    def cases(self) -> Iterator[str]:
        """The worst cases with their answers, folded."""
        yield from (case_block(each) for each in self._report.worst)

    def slices(self) -> str:
        found = self._report.slices
        if not found:
            return ""
        titles = ("Slice", "Metric", "Mean", "95 % interval", "Cases", "Difference from the rest")
        kept, more = first_rows(map(_slice, found), _ROOM)
        return joined(table(titles, kept), left_out(more, "slice") if more else "")

    def next(self) -> str:
        return joined(*steps([self._found.next_step])) if self._found.next_step else ""


def case_block(found: ReportCase) -> str:
    """One case with its answers, folded."""
    bad = [each for each in found.findings.metrics if each.mark != "good"] or found.findings.metrics
    numbers = "; ".join(cell(each.text) for each in bad[:_NAMED])
    summary = f"{MARKS[found.findings.mark]} {cell(found.test_case_id)}{': ' if numbers else ''}{numbers}"
    return details(summary, _case(found))


def _case(found: ReportCase) -> Iterator[str]:
    if found.file:
        yield said(f"{found.file}, line {found.line:,}" if found.line else found.file)
    yield f"Input\n\n{block(found.input, _ROOM)}"
    if found.reference is not None:
        yield f"Reference\n\n{block(found.reference, _ROOM)}"
    notes = [said(note.text) for each in found.findings.metrics for note in each.notes]
    if notes:
        yield bullets(notes)
    for each in found.answers:
        yield joined(*_answer(each))
    if found.answers_left_out:
        yield left_out(found.answers_left_out, "answer")


def _answer(found: ComparedAnswer) -> Iterator[str]:
    yield f"**Sample {found.sample + 1:,}**"
    if found.answer is not None or found.error is None:
        yield block(found.answer or "", _ROOM)
    if found.error is not None:
        yield f"❌ {said(found.error)}"
    reasons = {name: f": {text}" for name, text in found.reasons.items() if text}
    lines = [said(f"{name} {short_number(score)}{reasons.get(name, '')}") for name, score in found.scores.items()]
    lines += [f"flags: {said(', '.join(found.flags))}"] if found.flags else []
    if lines:
        yield bullets(lines)


def _metric(found: MetricFinding) -> tuple[str, ...]:
    def show(value: float) -> str:
        return decimal(value, found.digits)

    interval = found.no_interval.text if found.no_interval else " to ".join(map(show, found.interval or ()))
    spread = found.no_std.text if found.no_std else f"{show(found.std or 0.0)} {found.variability or ''}".strip()
    scale = [] if found.scale == _GUIDE_SCALE else [f"from {_scale(found.scale)}"]
    notes = "".join(below(cell(text)) for text in (*scale, *(note.text for note in found.notes)))
    rate = "" if found.pass_rate is None else percent(found.pass_rate)
    values = (show(found.mean), rate, interval, spread, " to ".join(map(show, found.case_means)))
    return (MARKS[found.mark], cell(found.name) + notes, *map(figures, values))


def _flag(found: FlagFinding) -> tuple[str, ...]:
    start = (MARKS[found.mark], cell(found.name))
    if found.share is None:
        return (*start, "", "", "", cell(found.text))
    interval = found.no_interval.text if found.no_interval else " to ".join(map(percent, found.interval or ()))
    raised = f"{found.raised:,} of {found.judged:,}"
    return (*start, *map(figures, (percent(found.share), interval, raised, found.text)))


def _varying(found: VaryingCase) -> tuple[str, ...]:
    values = (
        f"{found.mean:,.2f}",
        f"{found.std:,.2f}",
        f"{short_number(found.low)} to {short_number(found.high)}",
        f"{found.passes:,} of {found.count:,}",
        _CAUSES[found.cause],
    )
    return (cell(found.test_case_id), cell(found.metric), *map(figures, values))


def _slice(found: SliceCell) -> tuple[str, ...]:
    places = digits(found.scale)
    ends = [decimal(end, places) for end in (found.low, found.high) if end is not None]
    p = f" ({p_value(found.p_value)})" if found.p_value is not None else ""
    difference = "" if found.difference is None else f"{signed(found.difference, places)}{p}"
    name = f"{found.key} = {found.value}"
    values = (decimal(found.mean, places), " to ".join(ends), f"{found.cases:,}", difference)
    return (cell(name), cell(found.metric), *map(figures, values))


def _scale(scale: Scale) -> str:
    return f"{scale[0]:,g} to {scale[1]:,g}"
