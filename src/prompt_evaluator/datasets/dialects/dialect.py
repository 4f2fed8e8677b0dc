"""What a dialect has to say about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.datasets.positions import Position, Report
    from prompt_evaluator.model import TestCase


class ReadCase(Protocol):
    """One case; None after reporting what is wrong with it."""

    def __call__(
        self, record: dict[str, Any], where: Position, report: Report, *, strict: bool = False
    ) -> TestCase | None:
        """Read one case; `strict` makes problems of fields that look like ours but cannot be used."""


class Dialect(NamedTuple):
    """One way of writing cases."""

    name: str
    claims: Callable[[Any, str], bool]
    """Given the parsed file and its extension: is it written this way?"""
    items: Callable[[Any], list[Any]]
    """The cases, as written, of a file that was claimed."""
    case: ReadCase
    """How one of them is read."""
