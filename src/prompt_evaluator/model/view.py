"""A named view: the address of a page, with its filter and everything else that it shows."""

from __future__ import annotations

import msgspec


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the dashboard under a name."""

    name: str
    address: str
    """Relative, such as `/runs/ID?q=failing`."""
    saved_at: str
    saved_by: str
    """The name of the caller's token; `local` where none is needed."""
