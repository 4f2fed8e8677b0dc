"""Keys that callers give to requests, so that a request sent twice is carried out once."""

from __future__ import annotations

import msgspec


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """The request is new and is to be carried out by the one that claimed its key."""

    key: str
    claimed_at: str
    """ISO 8601, UTC. Tells this claim from a later one of the same key."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The same request was answered before."""

    answer: str
    """JSON."""


class InProgress(msgspec.Struct, frozen=True, kw_only=True):
    """The same request is being carried out."""


class Different(msgspec.Struct, frozen=True, kw_only=True):
    """The key was given to another request."""


Claim = Claimed | Answered | InProgress | Different
