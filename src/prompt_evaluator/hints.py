"""Help for somebody who mistyped a name: the nearest one that there is, or a list of a bearable length."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_LISTED = 10
_CUTOFF = 0.6


def nearest(name: str, known: Iterable[str], *, cutoff: float = _CUTOFF) -> str | None:
    """The known name that is most like this one, in upper or lower case; None where none is."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for who mistyped something

    folded = {each.casefold(): each for each in known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[near[0]] if near else None


def some_of(names: Collection[str], most: int = _LISTED, *, total: int | None = None) -> str:
    """`a, b, c`, or `a, b and 12 more`.

    Args:
        names: In the order in which they are listed.
        most: How many are named.
        total: How many there are, where `names` is only a part of them.
    """
    shown = list(names)[:most]
    hidden = (len(names) if total is None else total) - len(shown)
    return ", ".join(shown) + (f" and {hidden:,} more" if hidden > 0 else "")
