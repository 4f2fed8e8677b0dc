"""Describes values in the terms of YAML and JSON."""

from __future__ import annotations

from prompt_evaluator.model.bounds import as_given


def described(value: object) -> str:
    """Return a value's type, and the value itself if it is short."""
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return as_given(value)
        case str():
            return "an empty text" if not value.strip() else f"the text {value[:40]!r}"
        case list():
            return "a list"
        case _:  # from a file it is a mapping; Python callers may pass anything
            return "a mapping" if isinstance(value, dict) else f"a {type(value).__name__}"


def text_instead(value: object) -> str:
    """Return advice for a value that should be a text."""
    match value:
        case [str()]:
            return "Write the text alone, without a list around it"
        case list():
            return "Write one text instead of the list"
        case dict():
            return "Write one text instead of the mapping"
        case _:
            return "Write it in quotes"
