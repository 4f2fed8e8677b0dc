"""What every syntax hands to the dialects: plain values, and where the outer ones stand."""

from __future__ import annotations

from typing import Any, NamedTuple

MAX_DEPTH = 200
"""How deep lists and mappings may be nested. Far above any real case, far below where recursion ends the process."""
PLACED_DEPTH = 3
"""Lists and mappings down to this depth keep their line numbers: enough for the fields of each task of a benchmark."""


class Document(NamedTuple):
    """A parsed file."""

    root: Any
    places: dict[int, dict[str | int, int]]
    """The line of each field or item, by `id` of the mapping or list, which lives as long as `root` does."""
