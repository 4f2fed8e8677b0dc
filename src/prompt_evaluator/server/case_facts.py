"""The metadata of a case as a list of facts, each with the filter that finds the same."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection

    from prompt_evaluator.model import TestCase

_LONGEST_FACT = 200


def case_facts(case: TestCase, without: Collection[str] = ()) -> list[tuple[str, str, str | None]]:
    """Name, value and the filter that finds cases with the same, for values that a filter can name."""
    found = []
    for name, value in case.metadata.items():
        if name in without:
            continue
        simple = isinstance(value, str | int | float) and not isinstance(value, bool)
        text = str(value) if simple else msgspec.json.encode(value).decode()
        short = simple and 0 < len(text) <= _LONGEST_FACT and not set(name) & set(" <>=!~:\"'")
        found.append((name, text, f"{name}:{shlex.quote(text)}" if short else None))
    return found
