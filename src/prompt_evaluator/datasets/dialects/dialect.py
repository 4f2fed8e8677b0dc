"""The interface of a dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.datasets.positions import Position, Report
    from prompt_evaluator.model import TestCase


class ReadCase(Protocol):
    """Reads one case."""

    def __call__(
        self, record: dict[str, Any], where: Position, report: Report, *, strict: bool = False
    ) -> TestCase | None:
        """Return the case, or None after reporting its problems.

        `strict` also reports fields that look like ours but cannot be used.
        """


class Dialect(NamedTuple):
    """One way of writing cases."""

    name: str
    claims: Callable[[Any, str], bool]
    """Whether a file is in this dialect, given its parsed content and extension."""
    items: Callable[[Any], list[Any]]
    """Returns the cases, as written, of a claimed file."""
    case: ReadCase
