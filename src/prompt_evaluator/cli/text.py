"""Text for terminals: width, cutting and wrapping, and short forms of changing numbers."""

from __future__ import annotations

import os
import shlex
import shutil
import unicodedata
from typing import TYPE_CHECKING

import click

from prompt_evaluator.model.characters import is_unseen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

SEPARATOR = " · "
_NARROWEST, _WIDEST = 40, 1_000
"""In columns. `COLUMNS` may be set to any number, and progress bars are as long as a line."""
_SIGNS = {"✓": "+", "⚠": "!", "✗": "x", "×": "x", "·": "|", "…": "~", "━": "#", "─": "-", "→": ">", "±": "+"}
_BARS = {bar: str(level) for level, bar in enumerate("▁▂▃▄▅▆▇█", 1)} | {"│": "|", "▲": "^", "▼": "v", "○": "o"}
_PLAIN = str.maketrans({**_SIGNS, **_BARS, "\u2013": "-", "\N{MINUS SIGN}": "-", "\ufe0f": ""})
"""Also the en dash, the minus sign, and the selector for emoji presentation."""


def clean(text: str) -> str:
    """Replace control characters, which could move the cursor: ids come from files that anyone may have written."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("�" if is_unseen(character) else character for character in text)


def cells(text: str) -> int:
    """Return how many terminal columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def fit(text: str, width: int) -> str:
    """Cut the end of a text that is too wide."""
    if cells(text) <= width:
        return text
    return f"{_start(text, width - 1)}…" if width > 0 else ""


def squeeze(text: str, width: int) -> str:
    """Cut the middle of a text that is too wide, because long ids tend to differ at the end."""
    if cells(text) <= width:
        return text
    tail = max(0, (width - 1) // 2)
    end = _start(text[::-1], tail)[::-1]
    while end and not _width(end[0]):  # a combining mark without its letter
        end = end[1:]
    return f"{_start(text, width - 1 - tail)}…{end}"


def squeeze_apart(names: Iterable[str], width: int) -> dict[str, str]:
    """Cut names that are too wide so that different ones stay different: the middle, or what they have in common."""
    cut = {name: squeeze(clean(name), width) for name in names}
    for alike in _alike(cut):
        begins = len(os.path.commonprefix(alike))  # noqa: RUF071 - character by character is meant
        cut |= {name: f"…{squeeze(clean(name[begins:]), width - 1)}" for name in alike}
    for alike in _alike(cut):
        for number, name in enumerate(alike, start=1):
            cut[name] = squeeze(clean(name), width - len(f" {number}")) + f" {number}"
    return cut


def _alike(cut: Mapping[str, str]) -> list[list[str]]:
    """Return groups of names that are cut to the same text."""
    groups: dict[str, list[str]] = {}
    for name, text in cut.items():
        groups.setdefault(text, []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _start(text: str, width: int) -> str:
    used = 0
    for at, character in enumerate(text):
        used += _width(character)
        if used > width:
            return text[:at]
    return text


def pad(text: str, width: int, *, right: bool = False) -> str:
    gap = " " * (width - cells(text))
    return gap + text if right else text + gap


def wrap(text: str, width: int) -> list[str]:
    """Wrap at spaces to at most `width` columns; a wider word gets a line of its own."""
    return _packed(text.split(), width, " ")


def flow(parts: Iterable[str], width: int, separator: str = SEPARATOR) -> list[str]:
    """Put parts on as few lines as possible without breaking them; only a part wider than a line is wrapped."""
    whole = [piece for part in parts for piece in ([part] if cells(part) <= width else wrap(part, width))]
    return _packed(whole, width, separator)


def _packed(parts: Iterable[str], width: int, separator: str) -> list[str]:
    lines: list[str] = []
    for part in parts:
        if lines and cells(lines[-1]) + cells(separator) + cells(part) <= width:
            lines[-1] += separator + part
        else:
            lines.append(part)
    return lines


def hang(label: str, lines: Iterable[str], gutter: int) -> list[str]:
    """Indent lines by `gutter`, with the label in front of the first."""
    return [f"{pad(label if not at else '', gutter)}{line}".rstrip() for at, line in enumerate(lines)]


def shell_lines(arguments: Iterable[str], width: int) -> list[str]:
    """Break a command into lines that can be pasted into a shell, keeping each flag with its value."""
    groups: list[str] = []
    for part in map(shlex.quote, arguments):
        if groups and groups[-1].startswith("-") and " " not in groups[-1] and not part.startswith("-"):
            groups[-1] += f" {part}"
        else:
            groups.append(part)
    lines = [groups[0]]
    for group in groups[1:]:
        if len(lines[-1]) + 1 + len(group) + 2 <= width:
            lines[-1] += f" {group}"
        else:
            lines.append(f"  {group}")
    return [f"{line} \\" if at < len(lines) - 1 else line for at, line in enumerate(lines)]


def columns(stream: TextIO | None = None) -> int:
    """Return the current width of the stream's terminal; 80 without one. `COLUMNS` takes precedence."""
    if "COLUMNS" not in os.environ and stream is not None:
        try:
            return min(max(_NARROWEST, os.get_terminal_size(stream.fileno()).columns or 80), _WIDEST)
        except (OSError, ValueError):  # not a terminal, or not a file
            pass
    return min(max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns), _WIDEST)


def coloured(stream: TextIO) -> bool:
    """Whether to use colours, following https://no-color.org."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def writable(text: str, encoding: str | None) -> str:
    """Replace what the encoding lacks, so that a paid run does not end in an encoding error."""
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding or "utf-8", "replace").decode(encoding or "utf-8")
    except LookupError:
        return text.translate(_PLAIN).encode("ascii", "replace").decode()
    return text


def plain(text: str) -> str:
    return click.unstyle(text)


def clock(seconds: float) -> str:
    """`0:07`, `12:30`, `3:05:00`, `2 d 3 h`."""
    whole = int(seconds + 0.5)
    if whole >= 86_400:  # noqa: PLR2004 - a day
        return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def span(seconds: float) -> str:
    """`8 s`, `4 min`, `2.5 h`, `3 days`."""
    for most, unit, name in ((90, 1, "s"), (90 * 60, 60, "min"), (48 * 3600, 3600, "h")):
        if seconds < most:
            return f"{_round(seconds / unit)} {name}"
    return f"{_round(seconds / 86_400)} days"


def _round(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0") if number < 10 else f"{number:,.0f}"  # noqa: PLR2004


def tokens(number: float) -> str:
    """`950`, `12.3k`, `4.56M`: exact counts do not matter during a run."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}" if number < 999.5 * size else f"{number / size:,.0f}{unit}"
    return f"{number:.0f}"
