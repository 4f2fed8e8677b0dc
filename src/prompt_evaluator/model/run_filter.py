"""The filter of the table of runs, as one line of text: `dataset:support model~gpt tag.team:search metric.tone>=4`."""

from __future__ import annotations

import re
import shlex

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.condition import Condition

LONGEST = 2_000
_WORD = re.compile(r"([^\s<>=!~:]+)(<=|>=|!=|<|>|=|~|:)(.+)", re.DOTALL)
_CALLED = {"model": "target"}


def read_run_filter(text: str) -> tuple[Condition, ...]:
    """The conditions of a filter. A word without a comparison is a part of the dataset's name.

    Raises:
        ConfigurationError: A word cannot be read; says which.
    """
    if len(text) > LONGEST:
        raise ConfigurationError(f"The filter has more than {LONGEST:,} characters. Shorten it.")
    try:
        words = shlex.split(text)
    except ValueError:
        raise ConfigurationError("A quotation mark in the filter is not closed. Close it, or leave it out.") from None
    return tuple(map(_condition, words))


def _condition(word: str) -> Condition:
    match = _WORD.fullmatch(word)
    if match is None:
        return Condition("dataset", "~", word.rstrip(":=~<>!"))
    key, operator, value = match.groups()
    same = "=" if operator == ":" else operator
    return Condition(_CALLED.get(key, key), same, value)  # type: ignore[arg-type]  # the pattern allows no other
