"""Pieces of which the pages are made."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.wording import decimal, many, sentence
from prompt_evaluator.reports.html.markup import Content, Html, element, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model.findings import Mark, NextStep

_SYMBOLS: dict[Mark, tuple[str, str]] = {"good": ("✓", "good"), "warning": ("!", "look closer"), "bad": ("✗", "bad")}
_LONG_TEXT = 600
"""Characters above which a text is folded."""
_MOST_LINES = 12
_SHOWN_ROWS, _MOST_ROWS = 40, 500
"""Of a long table: before the fold, and at all."""


class Column(NamedTuple):
    """A column of a table."""

    title: str
    number: bool = False
    """Numbers are aligned to the right."""


class Row(NamedTuple):
    """A row of a table; the first cell names it."""

    cells: tuple[Content, ...]
    notes: tuple[str, ...] = ()
    """Shown below the row."""


def mark(found: Mark | None) -> Html:
    """A symbol whose meaning does not depend on its colour; a blank if there is nothing to mark."""
    if found is None:
        return element("span", class_="mark")
    symbol, words = _SYMBOLS[found]
    return element(
        "span", element("span", symbol, aria_hidden="true"), spoken(words), class_=f"mark {found}", title=words
    )


def marked_name(found: Mark | None, label: str) -> Html:
    """A name with its mark, which stay together."""
    return element("span", mark(found), name(label), class_="named")


def spoken(words: str) -> Html:
    """Words for screen readers alone."""
    return element("span", words, class_="spoken")


def badge(words: str, kind: str) -> Html:
    return element("span", words, class_=f"badge {kind}")


def name(found: str) -> Html:
    """A name that somebody chose: its direction does not reach the text around it."""
    return element("bdi", found, class_="name")


def code(found: str) -> Html:
    return element("code", element("bdi", found))


def prose(words: str) -> Html:
    """A sentence; what is in backquotes is set as code."""
    pieces = words.split("`")
    if len(pieces) % 2 == 0:
        return join([words])
    return join(element("code", piece) if at % 2 else piece for at, piece in enumerate(pieces))


def paragraph(words: str, class_: str | None = None) -> Html:
    return element("p", prose(words), class_=class_)


def section(id_: str, title: str, *content: Content, lead: str | None = None) -> Html:
    return element(
        "section",
        element("h2", title, id=f"{id_}-title"),
        paragraph(lead, "dim") if lead else None,
        *content,
        id=id_,
        aria_labelledby=f"{id_}-title",
    )


def table(caption: str, columns: Sequence[Column], rows: Iterable[Row], *, class_: str = "") -> Html:
    """A table in a container of its own, which scrolls if it is wide; columns without any content are left out."""
    found = list(rows)
    shown = [at for at in range(len(columns)) if at == 0 or any(_filled(row.cells[at]) for row in found)]
    head = [element("th", columns[at].title, scope="col", class_=_class(columns[at])) for at in shown]
    body = [join([_row(row, shown, columns), _notes(row, len(shown))]) for row in found]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *head)),
        element("tbody", *body),
        class_=class_ or None,
    )
    return element("div", whole, class_="scroll", role="region", aria_label=caption, tabindex=0)


def long_table(caption: str, columns: Sequence[Column], rows: Iterable[Row], thing: str, *, class_: str = "") -> Html:
    """A table whose first rows are shown; the others are folded, and beyond that only counted."""
    found = list(rows)
    first, more = found[:_SHOWN_ROWS], found[_SHOWN_ROWS:_MOST_ROWS]
    left_out = len(found) - len(first) - len(more)
    rest = [table(f"More. {caption}", columns, more, class_=class_)] if more else []
    rest += [paragraph(f"{many(left_out, f'more {thing}')} not listed here.", "dim")] if left_out > 0 else []
    folded = fold(f"Show {many(len(found) - len(first), f'more {thing}')}", *rest) if rest else None
    return join([table(caption, columns, first, class_=class_), folded])


def _filled(cell: Content) -> bool:
    return bool(cell.source if isinstance(cell, Html) else cell)


def _class(column: Column) -> str | None:
    return "number" if column.number else None


def _row(row: Row, shown: Sequence[int], columns: Sequence[Column]) -> Html:
    return element(
        "tr",
        element("th", row.cells[0], scope="row"),
        *(element("td", row.cells[at], class_=_class(columns[at])) for at in shown[1:]),
        class_="noted" if row.notes else None,
    )


def _notes(row: Row, width: int) -> Html | None:
    if not row.notes:
        return None
    return element(
        "tr", element("td", element("span", join(map(prose, row.notes), " · ")), colspan=width), class_="notes"
    )


def facts(pairs: Iterable[tuple[str, Content]]) -> Html:
    """Labelled values; those without a value are left out."""
    return element(
        "dl",
        *(
            element("div", element("dt", label), element("dd", value))
            for label, value in pairs
            if value is not None and _filled(value)
        ),
        class_="facts",
    )


def fold(summary: Content, *content: Content, is_open: bool = False, class_: str | None = None) -> Html:
    return element("details", element("summary", summary), *content, open=is_open, class_=class_)


def written(found: str, *, folded: bool = True) -> Html:
    """A text by a model or a user, with its lines; a long one is clipped, with the whole of it one click away."""
    lines = found.count("\n") + 1
    if not folded or (len(found) <= _LONG_TEXT and lines <= _MOST_LINES):
        return element("pre", found or "(empty)", class_="text" if found else "text dim", dir="auto")
    start = _start(found)
    rest = found[len(start) :]
    more = many(len(rest), "more character")
    return element(
        "div",
        element("pre", start, class_="text", dir="auto"),
        fold(
            f"Show {more}",
            element("pre", rest.removeprefix("\n").removeprefix(" "), class_="text", dir="auto"),
            class_="rest",
        ),
        class_="long",
    )


def _start(found: str) -> str:
    """The first lines of a long text; within a long line, up to the end of a word."""
    start = "\n".join(found[:_LONG_TEXT].split("\n")[:_MOST_LINES])
    if len(start) < _LONG_TEXT:
        return start
    end = max(start.rfind(" "), start.rfind("\n"))
    return start[:end] if end > _LONG_TEXT / 2 else start


def command(shell: str, label: str = "Command") -> Html:
    """A command to be copied."""
    return element(
        "div",
        element("pre", element("code", shell), tabindex=0, aria_label=label),
        element("button", "Copy", type="button", class_="copy", hidden=True),
        class_="command",
    )


def next_step(step: NextStep) -> Html:
    """What to do, and the command that does it."""
    before = paragraph(step.before[:1].upper() + step.before[1:]) if step.before else None
    if not step.arguments:
        return element("li", before, paragraph(sentence(step.text)))
    return element("li", before, command(broken(step.arguments)))


def broken(arguments: Sequence[str]) -> str:
    """A command with each option on a line of its own, if it is long."""
    one_line = shlex.join(arguments)
    if len(one_line) <= 60:  # noqa: PLR2004
        return one_line
    lines: list[list[str]] = [[]]
    for each in arguments:
        if each.startswith("-") and lines[-1]:
            lines.append([])
        lines[-1].append(each)
    return " \\\n  ".join(shlex.join(line) for line in lines)


def plus_minus(mean: float, interval: tuple[float, float] | None, digits: int) -> Html:
    """`4.21 ± 0.12`, or the mean alone if its interval is not as wide on both sides."""
    shown = element("b", decimal(mean, digits))
    if interval is None:
        return shown
    below, above = (decimal(abs(mean - end), digits) for end in interval)
    return join([shown, element("span", f" ± {above}", class_="dim")]) if below == above else shown


def between(ends: tuple[float, float] | None, digits: int) -> str:
    return f"{decimal(ends[0], digits)} to {decimal(ends[1], digits)}" if ends else ""


def within(folder: str | None, path: str) -> str:
    """A path as seen from a folder; one outside it stays as it is."""
    if folder is None or not PurePath(path).is_relative_to(folder):
        return path
    return str(PurePath(path).relative_to(folder))


def scale_ends(scale: tuple[float, float]) -> str:
    return f"{scale[0]:,g} to {scale[1]:,g}"
