"""A text from an argument or standard input."""

from __future__ import annotations

import sys

import click

from prompt_evaluator.app.questions import question_text


def question(argument: str | None, what: str) -> str:
    """The argument, or standard input if it is None. Raises an error if the text is blank or not UTF-8."""
    if argument is None:
        text = question_text(sys.stdin.buffer.read())
    else:
        text = argument
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise click.UsageError(f"The {what} is not UTF-8.")
    if not text.strip():
        raise click.UsageError(f"The {what} is empty. Pass it as an argument, or pipe it in.")
    return text
