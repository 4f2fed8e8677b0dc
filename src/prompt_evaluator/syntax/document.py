"""What every parser returns: plain values, and the lines of the outer ones."""

from __future__ import annotations

from typing import Any, NamedTuple

MAX_DEPTH = 200
"""How deep lists and mappings may be nested: far deeper than any real case, far below Python's recursion limit."""
PLACED_DEPTH = 3
"""Line numbers are kept down to this depth: enough for the fields of each task of a benchmark."""


class Document(NamedTuple):
    """A parsed file."""

    root: Any
    places: dict[int, dict[str | int, int]]
    """The line of each field or item, by `id()` of the mapping or list; valid as long as `root` exists."""
