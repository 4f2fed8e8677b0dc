"""Which of several answers to show: the one that is most like the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 20
"""Answers that are compared with each other."""
_MOST_TEXT = 2_000


def representative(answers: Sequence[str | None]) -> int:
    """The place of the answer that is closest to all others; the first of several; 0 if there is none."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - only when answers are shown

    known = [(at, answer[:_MOST_TEXT]) for at, answer in enumerate(answers) if answer][:_MOST]
    if len(known) < 2:  # noqa: PLR2004 - nothing to compare with
        return known[0][0] if known else 0
    texts = [text for _, text in known]
    likeness = process.cdist(texts, texts, scorer=fuzz.ratio).sum(axis=1)
    return known[int(likeness.argmax())][0]
