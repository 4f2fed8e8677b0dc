"""Who is calling, and whether they may."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.tokens import check_token
from prompt_evaluator.model.token import allows
from prompt_evaluator.server.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.app.stores import ServedSettings
    from prompt_evaluator.model.token import Role, Token

COOKIE = "prompt_evaluator_token"
_BEARER = "bearer "


class Caller(NamedTuple):
    """The sender of a request."""

    name: str
    """Of the token; `local` where none is needed."""
    role: Role | None
    """None for somebody without a token, where one is needed."""
    token: Token | None = None

    def may(self, role: Role | None) -> bool:
        """Whether this caller's role is at least this one."""
        return role is None or (self.role is not None and allows(self.role, role))


LOCAL = Caller("local", "admin")
"""On loopback, everybody who can connect can also run the command line."""
NOBODY = Caller("nobody", None)


def find_caller(settings: ServedSettings, headers: Mapping[str, str]) -> Caller:
    """The caller with the token in these headers.

    Raises:
        Refusal: There is a token, but it is not valid.
    """
    text = _sent_token(headers)
    if text is None:
        return NOBODY
    token = check_token(settings.opened, text, now=now())
    if token is None:
        raise _unknown(
            "The token is not valid: it may be mistyped, expired or revoked. "
            "`prompt-evaluator token create` makes another one."
        )
    return Caller(token.name, token.role, token)


def check_role(caller: Caller, role: Role | None) -> None:
    """Refuse a caller whose role is not enough."""
    if caller.may(role):
        return
    if caller.role is None:
        raise _unknown("This needs a token: send it as `Authorization: Bearer TOKEN`, or sign in at /sign-in.")
    raise Refusal(403, f"This needs a token with the role {role}; yours has the role {caller.role}.", "Authorization")


def _unknown(error: str) -> Refusal:
    return Refusal(401, error, "Authorization", {"www-authenticate": "Bearer"})


def _sent_token(headers: Mapping[str, str]) -> str | None:
    given = headers.get("authorization")
    if given is not None:
        if not given.lower().startswith(_BEARER):
            raise _unknown("Send the token as `Authorization: Bearer TOKEN`.")
        return given[len(_BEARER) :].strip()
    pairs = [pair.strip().partition("=") for pair in headers.get("cookie", "").split(";")]
    return next((value for name, _, value in pairs if name == COOKIE), None)
