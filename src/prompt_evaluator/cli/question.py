"""One text to ask about: an argument, or what comes on standard input."""

from __future__ import annotations

import sys

import click

from prompt_evaluator.app.questions import question_text


def question(argument: str | None, what: str) -> str:
    """The text; an empty one, and one that is not UTF-8, are refused."""
    if argument is None:
        text = question_text(sys.stdin.buffer.read())
    else:
        text = argument
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise click.UsageError(f"The {what} is not UTF-8.")
    if not text.strip():
        raise click.UsageError(f"There is no {what}. Give one, or pipe it in.")
    return text
