"""Cases compared by what they say, wherever they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model import TestCase


def placeless(cases: Iterable[TestCase]) -> list[TestCase]:
    """The same cases without their file and line."""
    return [structs.replace(case, file=None, line=None) for case in cases]
