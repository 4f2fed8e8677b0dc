"""Tokens: who may do what on a server."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Role = Literal["viewer", "labeller", "runner", "admin"]
"""Each may do everything that those before it may."""
ROLES: tuple[Role, ...] = get_args(Role)
TokenState = Literal["valid", "expired", "revoked"]


def allows(role: Role, needed: Role) -> bool:
    """Whether somebody with this role may do what another role is needed for."""
    return ROLES.index(role) >= ROLES.index(needed)


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token, without its secret, which only its owner has."""

    id: str
    name: str
    """Says whose it is or what it is for."""
    role: Role
    created_at: str
    """ISO 8601, UTC, with milliseconds, so that sorting the strings sorts by time."""
    expires_at: str | None = None
    """None if it does not expire."""
    revoked_at: str | None = None
    last_used_at: str | None = None
    """To the minute."""
    max_samples: int | None = None
    """Samples per case that a run may have which this token asks for; None for the server's own limit."""
    max_cost: float | None = None
    """US dollars that such a run may spend."""
    max_concurrency: int | None = None
    """Calls in flight that such a run may have."""

    def state(self, now: str) -> TokenState:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"
