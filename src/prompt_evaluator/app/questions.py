"""One text to ask about, as it comes on standard input."""

from __future__ import annotations

from pathlib import Path

from prompt_evaluator.syntax.source import check_text

_FROM = Path("standard input")


def question_text(data: bytes) -> str:
    """The text of these bytes; what is not UTF-8, and a NUL, are refused with their place."""
    return check_text(data, _FROM).decode()
