"""What all charts are made of: names that can be shown, titles, layers, and sentences about numbers.

Names come from files that anyone may have written. They are only ever values of a few fixed fields: never part of an
expression, a field name or a sort order, which Vega-Lite would turn into an expression.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from prompt_evaluator.model.chart import Chart
from prompt_evaluator.model.wording import decimal
from prompt_evaluator.reports.levels import digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model.chart import ChartData

Specification = dict[str, Any]
Row = dict[str, Any]

WIDTH = 520
_LONGEST_NAME, _LONGEST_TITLE, _LONGEST_ALTERNATIVE = 40, 100, 2_000
_MOST_SPOKEN = 12
"""Numbers that a text alternative contains."""
_IN_EVERY_OBJECT = {
    *(
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
    ),
    *("__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
}
"""Vega looks up titles and domains in JavaScript objects, and fails on these; with a space behind, it does not."""
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def shown(text: str, longest: int = _LONGEST_NAME) -> str:
    """A name on one line: cut, and without characters that would move, hide or reorder others."""
    cut = text[: longest - 1] + "…" if len(text) > longest else text
    visible = "".join("�" if unicodedata.category(letter) in _UNSEEN else letter for letter in cut)
    words = " ".join(visible.split()) or "(no name)"
    return f"{words}\N{NO-BREAK SPACE}" if words in _IN_EVERY_OBJECT else words


def distinct(texts: Iterable[str], longest: int = _LONGEST_NAME) -> list[str]:
    """How to show each text; those that look the same are numbered, so that they stay apart."""
    found: list[str] = []
    used: set[str] = set()
    for text in texts:
        label, number = shown(text, longest), 1
        while label in used:
            number += 1
            end = f" ({number})"
            label = shown(text, longest - len(end)) + end
        used.add(label)
        found.append(label)
    return found


def labels(names: Iterable[str], longest: int = _LONGEST_NAME) -> dict[str, str]:
    """How to show each name, wherever it occurs."""
    each = list(dict.fromkeys(names))
    return dict(zip(each, distinct(each, longest), strict=True))


def chart(data: ChartData, specification: Specification, *, subtitle: str, alternative: str) -> Chart:
    """A chart with its title and text alternative."""
    title = shown(data.title, _LONGEST_TITLE)
    spoken = shown(f"{title}. {alternative}", _LONGEST_ALTERNATIVE)
    named = {"description": spoken, "title": {"text": title, "subtitle": wrapped(subtitle)}}
    return Chart(kind=data.kind, title=title, alternative=spoken, specification=named | specification)


def nothing(data: ChartData, why: str) -> Chart:
    """No chart, and the sentence that says why."""
    return Chart(kind=data.kind, title=shown(data.title, _LONGEST_TITLE), alternative=why, specification={})


def wrapped(text: str, longest: int = 92) -> list[str]:
    """Break a subtitle into lines: Vega-Lite does not."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= longest and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def layer(rows: Sequence[Row], mark: Specification, encoding: Specification) -> Specification:
    """Marks over rows of their own."""
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": encoding}


def linked(address: str | None) -> Row:
    """What a row has that leads to a page, for the script that draws charts in a site."""
    return {"link": address} if address else {}


def pointer(rows: Sequence[Row]) -> Specification:
    """How marks look under the mouse if they lead somewhere."""
    return {"cursor": "pointer"} if any("link" in row for row in rows) else {}


def layers(*each: Specification | None) -> list[Specification]:
    """The layers that have something to show."""
    return [one for one in each if one is not None and one["data"]["values"]]


def nominal(field: str, **more: Any) -> Specification:
    """A position or facet by name, in the order of the rows."""
    return {"field": field, "type": "nominal", "sort": None, **more}


def quantity(field: str, **more: Any) -> Specification:
    return {"field": field, "type": "quantitative", **more}


def names_axis(**more: Any) -> Specification:
    return {"title": None, "labelLimit": 290, **more}


def panels(each: Sequence[Specification]) -> Specification:
    """One specification out of one or several, below each other."""
    return each[0] if len(each) == 1 else {"vconcat": list(each), "spacing": 24}


def tooltip(**titles: str) -> list[Specification]:
    """Fields to show, already formatted, with their titles."""
    return [{"field": field, "type": "nominal", "title": title} for field, title in titles.items()]


def score(value: float, scale: tuple[float, float] | None) -> str:
    return decimal(value, digits(scale)).replace("-", "\N{MINUS SIGN}")


def between(low: float | None, high: float | None, scale: tuple[float, float] | None) -> str:
    """`4.09 to 4.33`, or words that say that there is no interval."""
    return "no interval" if low is None or high is None else f"{score(low, scale)} to {score(high, scale)}"


def spoken(sentences: Sequence[str]) -> str:
    """Numbers one after the other, at most a dozen."""
    first = "; ".join(sentences[:_MOST_SPOKEN])
    more = len(sentences) - _MOST_SPOKEN
    return f"{first}; and {more:,} more" if more > 0 else first
