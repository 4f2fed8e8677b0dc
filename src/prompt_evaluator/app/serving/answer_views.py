"""One answer in the form that a reader chose: as written, as Markdown, or as a difference to another text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.compare.text_diff import Part, PathChange, json_diff, shortened, word_diff
from prompt_evaluator.reports.markdown_reading import Block, read_markdown

if TYPE_CHECKING:
    from prompt_evaluator.model.case_api import AnswerForm

_NEAR = 200
"""Characters in which a good place to cut is looked for."""


class Clipped(msgspec.Struct, frozen=True):
    """A text of which the first part is shown."""

    shown: str
    more: str
    """To be unfolded; empty if all is shown."""
    missing: int
    """Characters that are not even folded."""


class AnswerView(msgspec.Struct, frozen=True, kw_only=True):
    """What to draw for one answer; exactly one of the first four is set."""

    text: Clipped | None = None
    blocks: tuple[Block, ...] | None = None
    parts: tuple[Part | int, ...] | None = None
    """A number means that many equal lines."""
    changes: tuple[PathChange, ...] | None = None
    """Of two JSON documents."""
    same: bool = False
    """Whether both texts are equal."""
    missing: int = 0
    """Characters that were left out."""


def clipped(text: str, shown: int, folded: int) -> Clipped:
    """Cut a text at the end of a line or a word, after about so many characters."""
    if len(text) <= shown + _NEAR:
        return Clipped(text, "", 0)
    at = _place(text, shown)
    end = len(text) if len(text) <= at + folded + _NEAR else _place(text, at + folded)
    return Clipped(text[:at], text[at:end], len(text) - end)


def answer_view(answer: str, form: AnswerForm, other: str | None, *, shown: int, folded: int) -> AnswerView:
    """An answer in one form.

    Args:
        answer: The answer.
        form: How to show it.
        other: The text to compare it with; without one, it is shown as written.
        shown: Characters to show at once.
        folded: Characters to unfold.
    """
    if form == "diff" and other is not None:
        return _difference(other, answer, shown + folded)
    if form == "markdown":
        text, missing = _cut(answer, shown + folded)
        return AnswerView(blocks=tuple(read_markdown(text)), missing=missing)
    whole = clipped(answer, shown, folded)
    return AnswerView(text=whole, missing=whole.missing)


def _difference(before: str, after: str, most: int) -> AnswerView:
    changes = json_diff(before, after)
    if changes is not None:
        return AnswerView(changes=tuple(changes), same=not changes)
    found: list[Part | int] = []
    left = most
    parts = shortened(word_diff(before, after))
    missing = 0
    for part in parts:
        if isinstance(part, int):
            found.append(part)
            continue
        text, cut = _cut(part.text, left)
        left, missing = left - len(text), missing + cut
        if text:
            found.append(Part(part.op, text))
    return AnswerView(parts=tuple(found), same=before == after, missing=missing)


def _cut(text: str, most: int) -> tuple[str, int]:
    if len(text) <= max(most, 0) + _NEAR and most > 0:
        return text, 0
    at = _place(text, most) if most > 0 else 0
    return text[:at], len(text) - at


def _place(text: str, near: int) -> int:
    """Where to cut: after a line, otherwise after a word, otherwise anywhere."""
    window = text[near : near + _NEAR]
    for sign in ("\n", " "):
        if sign in window:
            return near + window.index(sign) + 1
    return near
