"""Reads a question from standard input."""

from __future__ import annotations

from pathlib import Path

from prompt_evaluator.syntax.source import check_text

_FROM = Path("standard input")


def question_text(data: bytes) -> str:
    """Decode the bytes. Raises an error with the position of invalid UTF-8 or a NUL character."""
    return check_text(data, _FROM).decode()
