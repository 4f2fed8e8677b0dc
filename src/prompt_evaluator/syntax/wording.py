"""Values in the words of somebody who writes YAML or JSON."""

from __future__ import annotations

from prompt_evaluator.model.bounds import as_given


def described(value: object) -> str:
    """What a value is, and which one if it is small."""
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {as_given(value)}"
        case str():
            return "an empty text" if not value.strip() else f"the text {value[:40]!r}"
        case list():
            return "a list"
        case _:  # only Python can hold anything but a mapping here
            return "a mapping" if isinstance(value, dict) else f"a {type(value).__name__}"


def text_instead(value: object) -> str:
    """What to write where a text is expected and something else was written."""
    match value:
        case [str()]:
            return "Write the text alone, without a list around it"
        case list():
            return "Write one text in place of the list"
        case dict():
            return "Write one text in place of the mapping"
        case _:
            return "Write it in quotes"
