"""Suggestions for a mistyped name: the nearest known name, or a short list."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_LISTED = 10
_CUTOFF = 0.6


def nearest(name: str, known: Iterable[str], *, cutoff: float = _CUTOFF) -> str | None:
    """Return the most similar known name, ignoring case; None if none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for errors

    folded = {each.casefold(): each for each in known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[near[0]] if near else None


def some_of(names: Collection[str], most: int = _LISTED, *, total: int | None = None) -> str:
    """`a, b, c`, or `a, b and 12 more`.

    Args:
        names: In the order to list them.
        most: How many to list.
        total: How many there are in total, if `names` is only a part of them.
    """
    shown = list(names)[:most]
    hidden = (len(names) if total is None else total) - len(shown)
    return ", ".join(shown) + (f" and {hidden:,} more" if hidden > 0 else "")
