"""One case of a run on a terminal: its input, what is expected, its statistics, and its answers with scores."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator.cli.case_list import case_facts, metric_line, unmeasured_lines
from prompt_evaluator.cli.text import SEPARATOR, cells, clean, hang, tokens, wrap
from prompt_evaluator.model.wording import decimal, kind, money

if TYPE_CHECKING:
    from prompt_evaluator.app.run_cases import CaseView, WholeCase
    from prompt_evaluator.model import TestCase
    from prompt_evaluator.model.findings import Note
    from prompt_evaluator.model.query import SampleLine, ScoreLine

_UNLIMITED = 1_000_000
_ADVICE = {"review_samples": "→", "clearer_prompt": "→", "low_std": "✓"}
_WARNINGS = {"high_std", "wide_range", "flaky"}


def case_page(found: WholeCase, width: int | None) -> list[str]:
    """The case and all its samples, in colour.

    Args:
        found: The case.
        width: Where to break lines; None if the output is not a terminal, to keep lines as they are.
    """
    page = _Page(width or _UNLIMITED)
    parts = [page.head(found), page.asked(found.case), page.statistics(found.view)]
    parts += [page.sample(sample) for sample in found.view.samples or ()]
    return [line for part in parts if part for line in (*part, "")][:-1]


def blind_page(case: TestCase, sample: SampleLine, width: int | None) -> list[str]:
    """A case and one answer in colour, without anything that a judge said about it."""
    page = _Page(width or _UNLIMITED)
    return [*page.asked(case), *page.answer(sample)]


class _Page:
    def __init__(self, width: int) -> None:
        self._width = width

    def head(self, found: WholeCase) -> list[str]:
        line = found.view.line
        title = f"Case: {click.style(clean(line.case_id), bold=True)}  {case_facts(line)}"
        place = f", line {line.line}" if line.line else ""
        where = [click.style(f"{clean(line.file)}{place}", dim=True)] if line.file else []
        error = self._block("error", line.error_message, colour="red") if line.error_message else []
        return [title, *where, *error]

    def asked(self, case: TestCase) -> list[str]:
        """The input, what is expected of the answer, and the metadata."""
        turns = [(str(message.role), message.content) for message in case.messages]
        texts: list[tuple[str, str | None]] = [
            *(turns or [("input", case.input)]),
            ("description", case.description),
            ("task", case.task),
            ("expected", case.expected_constraints),
            *(("reference", text) for text in case.all_references),
            *(("check", _compact(use)) for use in case.checks),
            *((f"metadata {name}", _shown(value)) for name, value in case.metadata.items()),
        ]
        return [line for name, text in texts if text for line in self._block(name, text)]

    def statistics(self, view: CaseView) -> list[str]:
        lines: list[str] = []
        for metric in view.findings.metrics:
            lines += [metric_line(metric), *(line for note in metric.notes for line in self._note(note))]
        lines += unmeasured_lines(view.line)
        for flag in view.findings.flags:
            text = f"  flag {clean(flag.name)}: {flag.text}"
            lines.append(click.style(text, fg="yellow") if flag.raised else text)
        return lines

    def sample(self, sample: SampleLine) -> list[str]:
        lines = [self._sample_head(sample)]
        for attempt in sample.earlier_attempts:
            missed = ", ".join(attempt.failed_checks)
            why = attempt.error.message if attempt.error else f"missed {missed}" if missed else "asked again"
            text = f"({why}) {attempt.generator_output or ''}"
            lines += self._block(f"attempt {attempt.attempt + 1}", text, dim=True)
        lines += self.answer(sample)
        if sample.error_message:
            about = f"{sample.error_metric}: " if sample.error_metric else ""
            text = f"{about}{kind(sample.error_kind or '')}: {sample.error_message.removeprefix(about)}"
            lines += self._block("error", text, colour="red")
        lines += [line for name, score in sample.scores.items() for line in self._score(name, score)]
        if raised := [name for name, is_raised in sample.flags.items() if is_raised]:
            lines += self._block("flags", ", ".join(raised), colour="yellow")
        return [*lines, *(self._block("comment", sample.comment) if sample.comment else [])]

    def answer(self, sample: SampleLine) -> list[str]:
        lines = self._block("answer", sample.answer) if sample.answer is not None else []
        return lines + [line for call in sample.tool_calls for line in self._block("tool call", _call(call))]

    def _sample_head(self, sample: SampleLine) -> str:
        costs = [cost for cost in (sample.cost, sample.judge_cost) if cost is not None]
        facts = [
            sample.status,
            *([f"{sample.latency_ms:,.0f} ms"] if sample.latency_ms is not None else []),
            *([money(sum(costs))] if costs else []),
            *([f"{tokens(sample.output_tokens)} tokens"] if sample.output_tokens is not None else []),
            *([f"ended by {clean(sample.cut_by)}"] if sample.cut_by else []),
            *(["reused"] if sample.reused else []),
        ]
        title = click.style(f"Sample {sample.sample + 1}", bold=True)
        return f"{title}  {SEPARATOR.join(facts)}"

    def _score(self, name: str, score: ScoreLine) -> list[str]:
        reason = score.reason if score.value is not None or score.reason else score.outcome
        value = score.outcome if score.value is None else decimal(score.value, 2).removesuffix(".00")
        passed = {True: " passes", False: " does not pass", None: ""}[score.passed]
        repeats = f" ({', '.join(_number(each) for each in score.repeats)})" if score.repeats else ""
        colour = "red" if score.outcome == "failed" else "yellow" if score.passed is False else None
        return self._block(clean(name), f"{value}{repeats}{passed}{': ' if reason else ''}{reason}", colour=colour)

    def _note(self, note: Note) -> list[str]:
        sign = "⚠️" if note.code in _WARNINGS else _ADVICE.get(note.code, " ")
        lines = wrap(clean(note.text), self._width - 6)
        return [f"    {line}" for line in hang(f"{sign} ", lines, 2)]

    def _block(self, label: str, text: str, *, colour: str | None = None, dim: bool = False) -> list[str]:
        """A label, followed by a text of any length, which starts on the next line if it has several lines."""
        lines = [clean(line.expandtabs(4)) for line in text.splitlines()] or [""]
        name = f"{clean(label)}:"
        if len(lines) == 1:
            # Wrap with an unbreakable word of the label's width in its place, so that the first line is shorter.
            first, *more = wrap(f"{'x' * cells(name)} {lines[0]}", self._width - 4)
            first = first[cells(name) :]
        else:
            first, more = "", [piece for line in lines for piece in self._broken(line)]
        paint = functools.partial(click.style, fg=colour, dim=dim or None)
        return [f"  {click.style(name, dim=True)}{paint(first)}".rstrip(), *(f"    {paint(line)}" for line in more)]

    def _broken(self, line: str) -> list[str]:
        """A line in pieces that fit, each with the line's indentation."""
        room = self._width - 4
        if cells(line) <= room:
            return [line]
        indent = line[: len(line) - len(line.lstrip())][: room // 2]
        return [f"{indent}{piece}" for piece in wrap(line, room - len(indent))]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else _compact(value)


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _call(call: Any) -> str:
    return f"{call.name}({_compact(call.arguments)})"


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:g}"
