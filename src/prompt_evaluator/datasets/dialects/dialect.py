"""What a dialect has to say about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.datasets.positions import Position, Report
    from prompt_evaluator.model import TestCase


class Dialect(NamedTuple):
    """One way of writing cases."""

    name: str
    claims: Callable[[Any, str], bool]
    """Given the parsed file and its extension: is it written this way?"""
    items: Callable[[Any], list[Any]]
    """The cases, as written, of a file that was claimed."""
    case: Callable[[dict[str, Any], Position, Report], TestCase | None]
    """One case; None after reporting what is wrong with it."""
