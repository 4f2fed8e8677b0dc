"""Progress of a run, as a block on a terminal that is redrawn in place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import click

from prompt_evaluator.cli.text import (
    SEPARATOR,
    cells,
    clean,
    clock,
    columns,
    fit,
    flow,
    squeeze,
    tokens,
    wrap,
    writable,
)
from prompt_evaluator.model.wording import kind, kinds, many, money, percent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from prompt_evaluator.cli.tally import View, Waiting

_GUTTER = 9
_TWO_COLUMNS = 120
"""From this width on, two fields fit side by side."""
_NAMED = 3
_LONGEST_ID = 32
_USUAL_HEIGHT = 24
_CLEAR_LINE = "\x1b[2K"
"""Sent before a line, not after it: a terminal keeps rows that a resize wrapped joined until they are cleared."""


class Span(NamedTuple):
    """A piece of a line in one colour."""

    text: str
    colour: str | None = None
    dim: bool = False


Line = list[Span]


class Field(NamedTuple):
    """A label, and parts that may span several lines."""

    label: str
    parts: list[str]
    colour: str | None = None


def live_lines(view: View, width: int) -> list[Line]:
    """The block, in lines of less than `width` columns. Fields stay in place while their numbers change."""
    fields = [_done(view), _calls(view), _spent(view), _retries(view)]
    if view.elsewhere:
        fields = [_done(view), _spent(view)]
    lines = [_bar(view, width - 1)]
    if width >= _TWO_COLUMNS:
        half = (width - 1) // 2
        for left, right in zip(fields[::2], fields[1::2], strict=True):
            lines += _side_by_side(_field(left, half - 2), _field(right, width - 1 - half), half)
    else:
        lines += [line for field in fields for line in _field(field, width - 1)]
    for field in (_errors(view), _waiting(view)):
        if field:
            lines += _field(field, width - 1)
    return lines


def _bar(view: View, width: int) -> Line:
    eta = "" if view.eta is None or not view.left else f"ETA {clock(view.eta)}"
    end = f" {percent(int(view.share * 100) / 100):>5}  {eta or '':<9}".rstrip()
    room = max(10, width - max(cells(end), 17))
    filled = int(room * view.share)
    return [Span("━" * filled, "green"), Span("─" * (room - filled), dim=True), Span(end)]


def _done(view: View) -> Field:
    rate = [] if view.rate is None else [f"{view.rate:,.1f}/s" if view.rate < 100 else f"{view.rate:,.0f}/s"]  # noqa: PLR2004
    parts = [f"{view.samples_done:,}/{view.samples:,} samples", f"{view.cases_done:,}/{view.cases:,} cases"]
    return Field("done", [*parts, *rate, clock(view.seconds)])


def _calls(view: View) -> Field:
    flight = f"{view.in_flight:,} in flight of {view.limit:,}" if view.limit else "none yet"
    return Field("calls", [flight, f"{view.queued:,} queued", throttled(view)])


def throttled(view: View) -> str:
    """The share of time that calls were held back, and why."""
    return f"throttled {percent(view.throttled)} (rate limits, 429s)" if view.throttled else "not throttled"


def _spent(view: View) -> Field:
    return Field("spent", [f"{tokens(view.input_tokens)} tokens in", f"{tokens(view.output_tokens)} out", cost(view)])


def cost(view: View) -> str:
    """The cost so far. Calls of unknown price are mentioned, never counted as free."""
    if view.unpriced and view.unpriced == view.answers:
        return "cost unknown"
    unknown = f" + {many(view.unpriced, 'call')} of unknown price" if view.unpriced else ""
    return f"{money(view.cost)}{unknown}"


def _retries(view: View) -> Field:
    if not view.retries:
        return Field("retries", ["none"])
    return Field("retries", [f"{sum(view.retries.values()):,}: {kinds(view.retries)}"], "yellow")


def _errors(view: View) -> Field | None:
    if not view.errors and not view.unscored:
        return None
    parts = [f"{many(view.unscored, 'sample')} without a score"]
    return Field("errors", [*parts, *([kinds(view.errors)] if view.errors else [])], "red")


def _waiting(view: View) -> Field | None:
    if not view.left:
        return Field("waiting", ["writing the results"])
    if not view.in_tail:
        return None
    return Field("waiting", waiting_for(view), "yellow")


def waiting_for(view: View) -> list[str]:
    """`for 3 samples`, `test-004 #2 (31 s), retrying after 429 in 12 s`, `test-009 #1 (4 s)`, ….

    Names the few that have waited longest.
    """
    if not view.waiting:
        return ["for the next samples to start"]
    more = len(view.waiting) - _NAMED
    return [
        f"for {many(len(view.waiting), 'sample')}",
        *map(_waiting_one, view.waiting[:_NAMED]),
        *([f"and {more:,} more"] if more > 0 else []),
    ]


def _waiting_one(item: Waiting) -> str:
    text = f"{squeeze(clean(item.case_id), _LONGEST_ID)} #{item.sample} ({item.seconds:.0f} s)"
    if item.retry_cause is None or item.retry_in is None:
        return text
    cause = "429" if item.retry_cause == "RateLimitedError" else f"“{kind(item.retry_cause)}”"
    return f"{text}, retrying after {cause} in {item.retry_in:.0f} s"


def _field(field: Field, width: int) -> list[Line]:
    room = width - _GUTTER
    lines = flow(field.parts, room) if len(field.parts) > 1 else wrap(field.parts[0], room)
    return [
        [Span(f"{field.label if not at else '':<{_GUTTER}}", dim=True), Span(fit(line, room), field.colour)]
        for at, line in enumerate(lines)
    ]


def _side_by_side(left: list[Line], right: list[Line], start: int) -> list[Line]:
    height = max(len(left), len(right))
    rows = zip(left + [[]] * (height - len(left)), right + [[]] * (height - len(right)), strict=True)
    return [[*one, Span(" " * (start - line_cells(one))), *two] for one, two in rows]


def line_cells(line: Sequence[Span]) -> int:
    return sum(cells(span.text) for span in line)


def line_text(line: Sequence[Span]) -> str:
    return "".join(span.text for span in line).rstrip()


class Terminal:
    """Draws the block on a stream. Writes only when called, and leaves no terminal state changed."""

    def __init__(self, stream: TextIO, *, colour: bool) -> None:
        self._stream, self._colour = stream, colour
        self._drawn: list[int] = []
        """Widths of the lines currently on screen."""

    def draw(self, view: View, above: Sequence[str] = ()) -> None:
        """Redraw the block, with permanent lines of text above it."""
        width = columns(self._stream)
        lines = live_lines(view, width)[: self._height() - 1]
        painted = "".join(f"{_CLEAR_LINE}{self._paint(line)}\n" for line in lines)
        self._write(f"{self._back(width)}{self._above(above, width)}{painted}\x1b[J")
        self._drawn = [line_cells(line) for line in lines]

    def clear(self, above: Sequence[str] = ()) -> None:
        """Replace the block with these lines."""
        width = columns(self._stream)
        self._write(f"{self._back(width)}{self._above(above, width)}\x1b[J")
        self._drawn = []

    def _above(self, lines: Sequence[str], width: int) -> str:
        return "".join(f"{_CLEAR_LINE}{piece}\n" for line in lines for piece in wrap(line, width - 1))

    def _back(self, width: int) -> str:
        """Move the cursor to the start of the block, whose lines wrap if the terminal has become narrower."""
        rows = sum(max(1, -(-cells_drawn // width)) for cells_drawn in self._drawn)
        return f"\r\x1b[{rows}A" if rows else "\r"

    def _height(self) -> int:
        try:
            return max(4, os.get_terminal_size(self._stream.fileno()).lines or _USUAL_HEIGHT)
        except (OSError, ValueError):
            return _USUAL_HEIGHT

    def _paint(self, line: Line) -> str:
        if not self._colour:
            return line_text(line)
        return "".join(
            click.style(span.text, fg=span.colour, dim=span.dim or None) if span.colour or span.dim else span.text
            for span in line
        )

    def _write(self, text: str) -> None:
        self._stream.write(writable(text, self._stream.encoding))
        self._stream.flush()


def final_text(view: View) -> str:
    """The final line: samples, duration, retries and throttling."""
    reached = f"{view.samples_done:,} of {view.samples:,} samples" if view.left else many(view.samples, "sample")
    parts = [f"{'Stopped after' if view.left else 'Done:'} {reached} in {clock(view.seconds)}"]
    if view.seconds >= 1:
        parts.append(f"{view.samples_done / view.seconds:,.1f}/s")
    if view.retries:
        parts.append(f"{many(sum(view.retries.values()), 'retry', 'retries')} ({kinds(view.retries)})")
    if view.throttled >= 0.01:  # noqa: PLR2004
        parts.append(f"throttled {percent(view.throttled)} of the time (rate limits, 429s)")
    if view.time_outs:
        parts.append(f"{many(view.time_outs, 'try', 'tries')} timed out and may have been paid for")
    return SEPARATOR.join(parts)
