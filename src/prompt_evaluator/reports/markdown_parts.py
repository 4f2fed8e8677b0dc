"""Pieces of Markdown. Everything that others wrote goes through `said`, `table` or `block`, which make it harmless."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from prompt_evaluator.model.wording import many, sentence
from prompt_evaluator.reports.safe_text import markdown_block, markdown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.model.findings import Mark, NextStep

Alert = Literal["CAUTION", "WARNING", "NOTE", "TIP"]
ALERTS: dict[Mark | None, Alert] = {"bad": "CAUTION", "warning": "WARNING", "good": "TIP", None: "NOTE"}
MARKS: dict[Mark | None, str] = {"bad": "❌", "warning": "⚠️", "good": "✅", None: ""}
_SENTENCE, _CELL = 2_000, 400
"""Bytes of an escaped sentence and of one in a table."""
_BLOCK = 20_000
"""Bytes of a text in a block."""
_SMALLER = 0.95
_FIGURES = re.compile(r"(?:[0-9A-Za-z ,;()=→±·\u2212\u2013]|(?<=\d)\.(?=\d)|%(?=[ ,;)]|$)|<(?=[ \d])|\+(?=\d))*")
"""Nothing of this means anything within a line."""


def size(text: str) -> int:
    """In bytes: services count bytes or characters, which are at most as many."""
    return len(text.encode())


def said(text: str, room: int = _SENTENCE) -> str:
    """A text on one line, without any effect; its end is cut if it takes more than `room` bytes."""
    shown = markdown_text(text[:room])
    if len(text) <= room and size(shown) <= room:
        return shown
    kept = text[:room]
    while size(shown := markdown_text(f"{kept}…")) > room and kept:
        kept = _shorter(kept, room / size(shown))
    return shown


def cell(text: str) -> str:
    return said(text, _CELL)


def figures(text: str) -> str:
    """A cell of numbers and plain words, as it is; anything else is escaped."""
    return text if len(text) <= _CELL and _FIGURES.fullmatch(text) else cell(text)


def block(text: str, room: int = _BLOCK) -> str:
    """A text with its lines; its end is cut if it takes more than `room` bytes."""
    kept, shown = text[:room], markdown_block(text[:room])
    while size(shown) > room and kept:
        kept = _shorter(kept, room / size(shown))
        shown = markdown_block(f"{kept}… [{len(text) - len(kept):,} more characters]")
    return shown


def _shorter(text: str, share: float) -> str:
    """A little less than this share of a text, because characters do not all take the same room."""
    return text[: int(len(text) * share * _SMALLER)]


def alert(kind: Alert, headline: str, more: Iterable[str] = ()) -> str:
    """A box with a sentence in bold, and escaped paragraphs or lists below it."""
    lines = [f"[!{kind}]", f"**{said(headline)}**"]
    for part in more:
        lines += ["", *part.split("\n")]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of escaped cells, without columns that are empty in every row."""
    filled = [*rows]
    shown = [at for at in range(len(titles)) if any(row[at] for row in filled)]
    lines = [[titles[at] for at in shown], ["---"] * len(shown), *([row[at] for at in shown] for row in filled)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def first_rows(rows: Iterable[Sequence[str]], room: int) -> tuple[list[Sequence[str]], int]:
    """As many rows as take at most `room` bytes, and how many are left out."""
    kept: list[Sequence[str]] = []
    left = 0
    for row in rows:
        room -= sum(map(size, row)) + 3 * len(row) + 2
        if room < 0 or left:
            left += 1
        else:
            kept.append(row)
    return kept, left


def joined(*parts: str) -> str:
    """Blocks that have something to say."""
    return "\n\n".join(part for part in parts if part)


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def details(summary: str, parts: Iterable[str]) -> str:
    """A folded part, of escaped texts. Blank lines matter: only after one is Markdown read again."""
    return "\n\n".join((f"<details>\n<summary>{summary}</summary>", *parts, "</details>"))


def below(text: str) -> str:
    """An escaped text on a further line of a cell."""
    return f"<br><sub>{text}</sub>"


def steps(found: Iterable[NextStep]) -> Iterator[str]:
    """What to do next, in order; commands can be copied."""
    for step in found:
        if step.before:
            yield said(f"{step.before[0].upper()}{step.before[1:]}")
        yield block(step.text) if step.arguments else said(sentence(step.text))


def left_out(number: int, thing: str) -> str:
    return f"… and {many(number, f'more {thing}')}."
