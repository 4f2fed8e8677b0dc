"""Sections of a report on two runs in Markdown. Each is one block, or none if there is nothing to say."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import many, sentence
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model.comparison import CaseClass
    from prompt_evaluator.model.comparison_findings import (
        DifferenceFinding,
        PairedFinding,
        RunLabel,
        ShownAnswer,
        ShownCase,
    )
    from prompt_evaluator.model.findings import Mark
    from prompt_evaluator.model.report import CompareReport

OLD_DAYS = 7
"""A baseline older than this is pointed out."""
_MOST_DIFF = 60
"""Lines of a diff."""
_ROOM = 12_000
"""Bytes of a table, whose further rows are counted, and of a text."""
_CLASSES: dict[CaseClass, Mark | None] = {"worse": "bad", "better": "good", "same": None, "too_few": None}
_HOUR, _DAY = 3_600, 86_400


class CompareSections:
    """Everything a report on two runs says, by section."""

    def __init__(self, report: CompareReport) -> None:
        self._report, self._found = report, report.findings
        self._age = age_of(report)

    def verdict(self, name: str = "") -> str:
        """Whether the candidate is better, after the name of what is compared."""
        start = f"{name}: " if name else ""
        return alert(ALERTS[self._found.mark], f"{start}{self._found.headline}")

    def runs(self) -> str:
        """Which run has which letter, and how old the baseline is."""
        before, after = self._found.baseline, self._found.candidate
        age = f", {_ago(self._age)}" if self._age is not None else ", of unknown age"
        return bullets((_run(before, f"baseline{age}"), _run(after, "candidate")))

    def warnings(self) -> str:
        lines = []
        if self._age is not None and self._age > OLD_DAYS * _DAY:
            advice = "The model and the judge may have changed since then: evaluate the baseline again to be sure."
            lines.append(f"⚠️ The baseline is {many(int(self._age // _DAY), 'day')} old. {advice}")
        lines += [f"⚠️ {said(text)}" for text in self._found.warnings]
        kept, more = first_rows([[line] for line in lines], _ROOM)
        return joined(*(line for (line,) in kept), left_out(more, "warning") if more else "")

    def metrics(self) -> str:
        return self._table("Metric", self._found.metrics, "metric")

    def flags(self) -> str:
        rows = self._table("Flag", self._found.flags, "flag")
        others = said(sentence(self._found.other_flags)) if self._found.other_flags else ""
        return joined(rows, others)

    def slices(self) -> str:
        found = self._found.slices
        if found is None:
            return ""
        rows = self._table("Slice", found.slices, "slice")
        return joined(rows, said(sentence(found.text)))

    def amounts(self) -> str:
        """Errors, cost, tokens and latency."""
        return bullets(f"{MARKS[each.mark]} {each.label}: {said(each.text)}".strip() for each in self._found.amounts)

    def flipped(self) -> str:
        """How many cases flipped, and which."""
        found = self._found.flipped
        counts = [f"{cell(each.metric)}: {said(each.text)}" for each in found.counts]
        counts += [said(sentence(found.text))] if found.text else []
        rows = [
            (MARKS[_CLASSES[each.class_]], cell(each.test_case_id), cell(each.metric), figures(each.text))
            for each in found.cases
        ]
        kept, more = first_rows(rows, _ROOM)
        listed = table(("", "Case", "Metric", "A → B"), kept) if kept else ""
        rest = left_out(more + found.more, "change") if more + found.more else ""
        return joined(bullets(counts), listed, rest)

    def cases(self) -> Iterator[str]:
        """Flipped cases with an answer of each run, folded; without those that did not flip."""
        names = {each.test_case_id for each in self._found.flipped.cases}
        yield from (case_block(each) for each in self._report.flipped if each.test_case_id in names)

    def differs(self) -> str:
        found = self._found.differs
        if not found:
            return said(sentence(self._found.no_difference or "nothing"))
        plain = [[f"{cell(each.label)}: {said(each.text)}"] for each in found if not each.diff]
        kept, more = first_rows(plain, _ROOM)
        lines = [line for (line,) in kept] + ([left_out(more, "difference")] if more else [])
        return joined(bullets(lines), *(_diff(each) for each in found if each.diff))

    def next(self) -> str:
        return joined(*steps(self._found.next_steps))

    def _table(self, title: str, found: Sequence[PairedFinding], thing: str) -> str:
        if not found:
            return ""
        arrow = f"{self._found.baseline.letter} → {self._found.candidate.letter}"
        titles = ("", title, arrow, "Verdict", "Difference (95 % interval)", "p", "Effect", "Cases")
        kept, more = first_rows([_row(each) for each in found], _ROOM)
        rows = table(titles, kept) if kept else ""
        return joined(rows, left_out(more, thing) if more else "")


def age_of(report: CompareReport) -> float | None:
    """How many seconds before the report the baseline was started; None if unknown."""
    started = report.baseline.facts.started_at
    if started is None:
        return None
    try:
        return (datetime.fromisoformat(report.made_at) - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError):  # a file made elsewhere may say anything, or omit the time zone
        return None


def case_block(found: ShownCase) -> str:
    """One case with an answer of each run, folded."""
    mark = next((each.mark for each in found.scores if each.mark), None)
    flips = "; ".join(f"{cell(each.metric)} {cell(each.text)}" for each in found.scores if each.mark)
    summary = f"{MARKS[mark]} {cell(found.test_case_id)}{': ' if flips else ''}{flips}".strip()
    return details(summary, _case(found))


def _case(found: ShownCase) -> Iterator[str]:
    if found.input is not None:
        yield f"Input\n\n{block(found.input, _ROOM)}"
    if found.scores:
        rows = ((MARKS[each.mark], cell(each.metric), figures(each.text)) for each in found.scores)
        yield table(("", "Metric", "A → B, each sample"), rows)
    if not found.answers:
        yield "The answers are not known."
    for each in found.answers:
        yield joined(*_answer(each))
    if found.likeness and len(found.answers) > 1:
        yield said(sentence(found.likeness))


def _answer(found: ShownAnswer) -> Iterator[str]:
    yield f"**{said(found.title)}**"
    if found.answer or found.error is None:
        yield block(found.answer, _ROOM)
    if found.error is not None:
        yield f"❌ {said(found.error)}"
    lines = [said(each) for each in found.scores]
    lines += [f"flags: {said(', '.join(found.flags))}"] if found.flags else []
    if lines:
        yield bullets(lines)


def _diff(found: DifferenceFinding) -> str:
    shown = found.diff[:_MOST_DIFF]
    more = len(found.diff) - len(shown)
    lines = [*shown, *([f"… {many(more, 'more line')}"] if more else [])]
    return details(f"{cell(found.label)}: {cell(found.text)}", [block("\n".join(lines), _ROOM)])


def _run(label: RunLabel, what: str) -> str:
    return f"**{said(label.letter)}**, the {what}: {cell(label.name)}, {said(label.text)}"


def _row(found: PairedFinding) -> tuple[str, ...]:
    interval = f" ({found.interval})" if found.interval else ""
    notes = "".join(below(cell(note)) for note in found.notes)
    numbers = (found.p, found.effect, found.record)
    return (
        MARKS[found.mark],
        cell(found.name),
        figures(found.means),
        cell(found.word) + notes,
        figures(f"{found.difference}{interval}"),
        *map(figures, numbers),
    )


def _ago(seconds: float) -> str:
    for unit, name in ((_DAY, "day"), (_HOUR, "hour")):
        if seconds >= unit:
            return f"{many(int(seconds // unit), name)} old"
    return "less than an hour old"
