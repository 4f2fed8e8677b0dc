"""Which of the rows that match a page shows, and where the pages beside it begin."""

from __future__ import annotations

from typing import NamedTuple


class RowSpan(NamedTuple):
    """A page of a list."""

    start: int
    """How many rows are before it."""
    shown: int
    matching: int
    size: int
    """Rows of a full page."""

    @property
    def previous(self) -> int | None:
        """Where the page before begins; None on the first."""
        return max(0, min(self.start, self.matching) - self.size) if self.start else None

    @property
    def next(self) -> int | None:
        """Where the next page begins; None on the last."""
        after = self.start + self.shown
        return after if self.shown and after < self.matching else None
