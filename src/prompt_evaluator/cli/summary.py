"""Summary of a run on a terminal: findings with marks, colours and line breaks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.findings import findings
from prompt_evaluator.cli.command_line import pasteable, program
from prompt_evaluator.cli.marks import COLOURS
from prompt_evaluator.cli.table import Row, table
from prompt_evaluator.cli.text import (
    cells,
    clean,
    coloured,
    columns,
    fit,
    hang,
    pad,
    plain,
    shell_lines,
    squeeze,
    wrap,
    writable,
)
from prompt_evaluator.model.wording import decimal, many, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model.findings import (
        ErrorsFinding,
        Facts,
        Findings,
        FlagFinding,
        MetricFinding,
        NextStep,
        NotableCase,
        Note,
        Scale,
    )
    from prompt_evaluator.model.outcome import Outcome

_GUTTER = 10
_WIDEST_TEXT = 110
"""Longer lines of prose are hard to read, however wide the terminal is."""
_SHOWN_FAILURES = 3
_SHOWN_CASES = 3
_GUIDE_SCALE = (1.0, 5.0)


def print_summary(outcome: Outcome) -> None:
    """Print the findings, where the results are, and what to do next."""
    text = summary_text(findings(outcome, program=program()), columns(sys.stdout))
    if not coloured(sys.stdout):
        text = plain(text)
    if sys.stdout.isatty() and sys.stderr.isatty():
        click.echo()  # separates it from the progress display
    click.echo(writable(text, sys.stdout.encoding), color=True)


def summary_text(found: Findings, width: int) -> str:
    """Return the summary in coloured lines narrower than `width`. Only paths and commands may be longer."""
    page = _Page(found, width - 1)
    if found.ended_before:
        return "\n".join([*page.sentence(), *page.files()])
    parts = (page.headline(), page.metrics(), page.flags(), page.facts(), page.advice(), page.files())
    return "\n\n".join("\n".join(part) for part in parts if part)


class _Page:
    """Renders findings at one width."""

    def __init__(self, found: Findings, width: int) -> None:
        self._found, self._width = found, width
        self._text_width = min(width, _WIDEST_TEXT)

    def sentence(self) -> list[str]:
        return wrap(clean(self._found.headline.text), self._text_width)

    def headline(self) -> list[str]:
        head = self._found.headline
        status = click.style(head.status, fg=COLOURS[head.mark], bold=True)
        lines = [line.replace(f" {head.status}:", f" {status}:", 1) for line in self.sentence()]
        for note in head.notes:
            lines += [click.style(line, fg="yellow") for line in wrap(clean(note.text), self._text_width)]
        return lines

    def metrics(self) -> list[str]:
        found = self._found.metrics
        if self._found.no_scores:
            return [self._found.no_scores.text]
        scales = {metric.scale for metric in found}
        shared = scales.pop() if len(scales) == 1 else None
        mean = "Mean" if shared in (None, _GUIDE_SCALE) else f"Mean ({_scale(shared)})"
        titles = [mean, "95 % interval", "Spread", "Case means"]
        rates = any(metric.pass_rate is not None for metric in found)
        if rates:
            titles.insert(1, "Passed")
        rows = [_metric_row(metric, rates=rates, scale=not shared) for metric in found]
        return table("Metric", titles, rows, self._width)

    def flags(self) -> list[str]:
        rows = [_flag_row(flag) for flag in self._found.flags]
        return table("Flag", ["Share", "95 % interval", "Raised", "Band"], rows, self._width) if rows else []

    def facts(self) -> list[str]:
        """Return labelled lines about cases, errors, cost and samples."""
        found = self._found.facts
        if found is None:
            return []
        facts = (
            ("Worst", self._cases(found.worst)),
            ("Flakiest", self._cases(found.flakiest)),
            ("Errors", self._errors(found.errors) if found.errors else []),
            ("Skipped", self._note(found.skipped)),
            ("Answers", self._note(found.answers)),
            ("Params", self._note(found.parameters)),
            ("Missed", self._missed(found)),
            ("Judge", self._note(found.judge)),
            ("Tokens", self._sentences(found.usage.text)),
            ("Samples", self._note(found.confidence)),
        )
        return [line for label, lines in facts for line in hang(label, lines, _GUTTER)]

    def _sentences(self, text: str) -> list[str]:
        return wrap(pasteable(clean(text)), self._text_width - _GUTTER)

    def _note(self, note: Note | None) -> list[str]:
        return self._sentences(note.text) if note else []

    def _missed(self, found: Facts) -> list[str]:
        lines = [line for note in found.missed_bars for line in self._sentences(note.text)]
        return [click.style(line, fg="red") for line in lines]

    def _cases(self, cases: Sequence[NotableCase]) -> list[str]:
        """Return the first few cases, one per line."""
        room = self._width - _GUTTER
        names = [squeeze(clean(case.test_case_id), max(12, room * 2 // 5)) for case in cases[:_SHOWN_CASES]]
        width = max(map(cells, names), default=0)
        return [
            f"{pad(name, width)}  {_joined([score.text for score in case.scores], room - width - 2)}"
            for name, case in zip(names, cases, strict=False)
        ]

    def _errors(self, found: ErrorsFinding) -> list[str]:
        lines = self._sentences(found.text)
        room = self._text_width - _GUTTER
        for failure in found.failures[:_SHOWN_FAILURES]:
            message = fit(" ".join(clean(failure.message).split()), 2 * room)
            lines += hang("", wrap(f"{failure.count:,} × {message}", room - 2), 2)
        if (more := found.reasons - _SHOWN_FAILURES) > 0:
            lines.append(f"  and {many(more, 'more reason')}")
        return [click.style(line, fg="yellow") for line in lines]

    def advice(self) -> list[str]:
        texts = [pasteable(clean(note.text)) for note in self._found.advice]
        return [line for text in texts for line in hang("→", wrap(text, self._text_width - 2), 2)]

    def files(self) -> list[str]:
        files, step = self._found.files, self._found.next_step
        lines = hang("Results", [files.shown, *([files.cases] if files.cases else ())], _GUTTER)
        if step is None:
            return lines
        command = [click.style(line, bold=True) for line in step_lines(step, self._width - _GUTTER)]
        return [*lines, *hang("Next", command, _GUTTER)]


def _metric_row(metric: MetricFinding, *, rates: bool, scale: bool) -> Row:
    def show(value: float) -> str:
        return decimal(value, metric.digits)

    values = [
        show(metric.mean),
        metric.no_interval.text if metric.no_interval else _between(map(show, metric.interval or ())),
        metric.no_std.text if metric.no_std else f"{show(metric.std or 0.0)} {metric.variability or ''}".strip(),
        _between(map(show, metric.case_means)),
    ]
    if rates:
        values.insert(1, "" if metric.pass_rate is None else percent(metric.pass_rate))
    notes = [f"from {_scale(metric.scale)}"] if scale else []
    notes += [clean(note.text) for note in metric.notes]
    return Row(metric.mark, metric.name, tuple(values), tuple(notes))


def _flag_row(flag: FlagFinding) -> Row:
    if flag.share is None:
        return Row(flag.mark, flag.name, ("", "", "", flag.text), ())
    interval = flag.no_interval.text if flag.no_interval else _between(map(percent, flag.interval or ()))
    raised = f"{flag.raised:,} of {flag.judged:,}"
    return Row(flag.mark, flag.name, (percent(flag.share), interval, raised, flag.text), ())


def step_lines(step: NextStep, width: int) -> list[str]:
    """Return what to do next; a command is broken so that it can be pasted."""
    before = wrap(step.before, width) if step.before else []
    if not step.arguments:
        return [*before, *wrap(step.text, width)]
    return [*before, *shell_lines(step.arguments, width)]


def _joined(texts: Sequence[str], width: int) -> str:
    """Join as many texts as fit, and say how many more there are."""
    for shown in range(len(texts), 1, -1):
        more = f" and {len(texts) - shown} more" if shown < len(texts) else ""
        text = clean(", ".join(texts[:shown])) + more
        if cells(text) <= width:
            return text
    return squeeze(clean(texts[0]), width)  # keeps the end, which is the number


def _between(ends: Iterable[str]) -> str:
    return " to ".join(ends)


def _scale(scale: Scale | None) -> str:
    return f"{scale[0]:,g} to {scale[1]:,g}" if scale else ""
