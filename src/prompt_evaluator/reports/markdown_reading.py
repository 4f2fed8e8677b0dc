"""Reads the Markdown that models write, as data: whatever draws it decides on tags, and no HTML in it means anything.

Headings, paragraphs, lists, quotes, tables, fenced code and emphasis are understood. Links and pictures become texts
with their addresses: nothing in an answer can be clicked or loaded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Kind = Literal["paragraph", "heading", "list", "quote", "code", "table", "rule"]
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(.*)")
_QUOTE = re.compile(r" {0,3}> ?(.*)")
_TABLE_LINE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CELLS = re.compile(r"(?<!\\)\|")
_DEEPEST = 4
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`{1,3})(?P<code>[^`\n]{1,1000})(?P=ticks)(?!`)"
    r"|!?\[(?P<text>[^\[\]\n]{0,300})\]\((?P<address>[^()\s]{1,1000})(?:[ \t]+\"[^\"\n]{0,200}\")?\)"
    r"|\*\*(?P<strong>(?=\S)[^\n]{1,500}?(?<=\S))\*\*(?!\*)"
    r"|(?<!\w)__(?P<strong2>(?=\S)[^\n]{1,500}?(?<=\S))__(?!\w)"
    r"|\*(?P<emphasis>(?=[^\s*])[^*\n]{1,500}?(?<=\S))\*"
    r"|(?<!\w)_(?P<emphasis2>(?=[^\s_])[^_\n]{1,500}?(?<=\S))_(?!\w)"
    r"|~~(?P<struck>(?=\S)[^~\n]{1,500}?(?<=\S))~~"
)
_STYLES = {
    "strong": "strong",
    "strong2": "strong",
    "emphasis": "emphasis",
    "emphasis2": "emphasis",
    "struck": "struck",
}


class Run(msgspec.Struct, frozen=True):
    """A piece of a line in one style."""

    text: str
    styles: frozenset[str] = frozenset()
    """Of `strong`, `emphasis`, `struck`, `code`."""


Line = tuple[Run, ...]


class Item(msgspec.Struct, frozen=True):
    """One entry of a list."""

    depth: int
    """Starts at 0."""
    marker: str
    """`•`, or its number as written."""
    line: Line


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a text, from top to bottom."""

    kind: Kind
    lines: tuple[Line, ...] = ()
    """Of a paragraph, a heading or a quote."""
    level: int = 0
    """Of a heading, from 1."""
    text: str = ""
    """Code, as written."""
    items: tuple[Item, ...] = ()
    rows: tuple[tuple[Line, ...], ...] = ()
    """Of a table; the first has its headings."""


def read_markdown(text: str) -> list[Block]:
    """The blocks of a text. Any text can be read: what is not understood stays as written."""
    return list(_blocks(text.replace("\r\n", "\n").split("\n")))


def read_line(text: str, styles: frozenset[str] = frozenset(), depth: int = 0) -> Line:
    """The styles within a line."""
    found: list[Run] = []
    at = 0
    for match in _INLINE.finditer(text) if depth < _DEEPEST else ():
        found.append(Run(text[at : match.start()], styles))
        found += _styled(match, styles, depth)
        at = match.end()
    found.append(Run(text[at:], styles))
    return tuple(run for run in found if run.text)


def _styled(match: re.Match[str], styles: frozenset[str], depth: int) -> Iterator[Run]:
    if match["escaped"]:
        yield Run(match["escaped"], styles)
    elif match["code"]:
        yield Run(match["code"].strip() or match["code"], styles | {"code"})
    elif match["address"]:
        yield from read_line(match["text"], styles, depth + 1)
        yield Run(f" ({match['address']})" if match["text"] else match["address"], styles)
    else:
        name = match.lastgroup or ""
        yield from read_line(match[name], styles | {_STYLES[name]}, depth + 1)


def _blocks(lines: list[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif fence := _FENCE.fullmatch(line):
            end = _end_of_code(lines, at + 1, fence[1])
            yield Block(kind="code", text="\n".join(lines[at + 1 : end]))
            at = end + 1
        elif _RULE.fullmatch(line):
            yield Block(kind="rule")
            at += 1
        elif heading := _HEADING.fullmatch(line):
            yield Block(kind="heading", level=len(heading[1]), lines=(read_line(heading[2]),))
            at += 1
        elif _is_table(lines, at):
            end = _while(lines, at + 2, lambda each: "|" in each)
            rows = [lines[at], *lines[at + 2 : end]]
            yield Block(kind="table", rows=tuple(map(_cells, rows)))
            at = end
        elif _ITEM.fullmatch(line):
            end = _while(lines, at, lambda each: bool(each.strip()) and not _starts_another(each))
            yield Block(kind="list", items=tuple(_items(lines[at:end])))
            at = end
        elif _QUOTE.fullmatch(line):
            end = _while(lines, at, lambda each: bool(_QUOTE.fullmatch(each)))
            inner = [match[1] for each in lines[at:end] if (match := _QUOTE.fullmatch(each))]
            yield Block(kind="quote", lines=tuple(map(read_line, inner)))
            at = end
        else:
            end = _while(lines, at + 1, lambda each: bool(each.strip()) and not _starts_another(each, lists=True))
            yield Block(kind="paragraph", lines=tuple(map(read_line, lines[at:end])))
            at = end


def _end_of_code(lines: list[str], start: int, fence: str) -> int:
    """The line that closes the fence; an answer that was cut off has none."""
    closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*")
    return next((at for at in range(start, len(lines)) if closing.fullmatch(lines[at])), len(lines))


def _while(lines: list[str], start: int, holds: Callable[[str], bool]) -> int:
    return next((at for at in range(start, len(lines)) if not holds(lines[at])), len(lines))


def _starts_another(line: str, *, lists: bool = False) -> bool:
    kinds = [_FENCE, _HEADING, _QUOTE, *([_ITEM] if lists else [])]
    return any(kind.fullmatch(line) for kind in kinds) or bool(_RULE.fullmatch(line))


def _is_table(lines: list[str], at: int) -> bool:
    below = lines[at + 1] if at + 1 < len(lines) else ""
    return "|" in lines[at] and "|" in below and bool(_TABLE_LINE.fullmatch(below))


def _cells(line: str) -> tuple[Line, ...]:
    return tuple(read_line(cell.strip().replace("\\|", "|")) for cell in _CELLS.split(line.strip().strip("|")))


def _items(lines: list[str]) -> Iterator[Item]:
    """The entries; a line without a marker goes on with the entry above it."""
    found: list[tuple[int, str, str]] = []
    for line in lines:
        if match := _ITEM.fullmatch(line):
            width = len(match[1].expandtabs(4))
            marker = match[2] if match[2][0].isdigit() else "•"
            found.append((width, marker, match[3]))
        else:
            width, marker, text = found[-1]
            found[-1] = (width, marker, f"{text} {line.strip()}")
    widths = sorted({width for width, _, _ in found})
    for width, marker, text in found:
        yield Item(min(widths.index(width), _DEEPEST), marker, read_line(text))
