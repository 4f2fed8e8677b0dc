"""Makes, checks, lists and revokes the tokens of a server."""

from __future__ import annotations

import hmac
import re
import secrets
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.clock import as_text
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError, StoreError, UnknownNameError
from prompt_evaluator.model import REDACTOR, Secret
from prompt_evaluator.model.token import ROLES, Token

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.token import Role
    from prompt_evaluator.store import Store

DEFAULT_EXPIRY = "90d"
NEVER = "never"
_MOST_DAYS = 366
_LONGEST_NAME = 64
_FORM = re.compile(r"pe_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", re.ASCII)
_SPAN = re.compile(r"(\d{1,4})([hd])", re.ASCII)
_NO_HASH = "0" * 64
"""Equal to no hash of a secret that anybody knows."""
_USE_RECORDED_AFTER = timedelta(minutes=1)


class TokenCaps(NamedTuple):
    """How much a run may use that a token asks for; None for the server's own limits."""

    max_samples: int | None = None
    max_cost: float | None = None
    max_concurrency: int | None = None


_NO_CAPS = TokenCaps()


class NewToken(NamedTuple):
    """A token and its text, which is shown once and cannot be read again."""

    token: Token
    text: Secret


def create_token(  # noqa: PLR0913 - what a token has
    settings: Settings,
    name: str,
    role: Role,
    *,
    now: str,
    expires: str = DEFAULT_EXPIRY,
    caps: TokenCaps = _NO_CAPS,
) -> NewToken:
    """Make a token.

    Args:
        settings: Name the store that the server uses.
        name: Says whose it is or what it is for; of several tokens with one name, only one can be valid.
        role: What it allows.
        now: The current time.
        expires: How long it is valid, such as `30d` or `12h`; a date, at the start of which (UTC) it expires; or
            `never`.
        caps: How much each run may use that it asks for.

    Raises:
        ConfigurationError: The name, the role or the expiry is not allowed.
    """
    name = name.strip()
    if role not in ROLES:
        raise UnknownNameError("role", role, ROLES)
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ConfigurationError(f"A token cannot have the name {name[:80]!r}. Use 1 to {_LONGEST_NAME} characters.")
    expires_at = _expiry(expires, datetime.fromisoformat(now))
    secret = secrets.token_urlsafe(32)
    token = Token(
        id=secrets.token_hex(4), name=name, role=role, created_at=now, expires_at=expires_at, **caps._asdict()
    )
    REDACTOR.add(secret)
    with closing(open_store(settings)) as store:
        _refuse_second(store, name, now)
        store.add_token(token, _hash(secret))
    return NewToken(token, Secret(f"pe_{token.id}_{secret}"))


def check_token(store: Store, text: str, *, now: str) -> Token | None:
    """Return the token that a text is; None unless it is valid. How long it takes tells nothing about any secret."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    token_id, secret = match.groups()
    found = store.hashed_token(token_id)
    is_right = hmac.compare_digest(_hash(secret), found.hash if found else _NO_HASH)
    if not found or not is_right or found.token.state(now) != "valid":
        return None
    REDACTOR.add(secret)
    _record_use(store, found.token, now)
    return found.token


def list_tokens(settings: Settings) -> list[Token]:
    """All tokens, oldest first, including those that are no longer valid."""
    with closing(open_store(settings)) as store:
        return store.tokens()


def revoke_token(settings: Settings, name: str, *, now: str) -> Token:
    """Revoke the token with this name or id, from now on.

    Raises:
        UnknownNameError: No valid token has this name or id.
    """
    with closing(open_store(settings)) as store:
        valid = [token for token in store.tokens() if token.state(now) == "valid"]
        found = [token for token in valid if token.id == name] or [token for token in valid if token.name == name]
        if not found:
            raise UnknownNameError("valid token", name, [word for token in valid for word in (token.name, token.id)])
        store.revoke_tokens([token.id for token in found], revoked_at=now)
        return msgspec.structs.replace(found[-1], revoked_at=now)


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _refuse_second(store: Store, name: str, now: str) -> None:
    for token in store.tokens():
        if token.name == name and token.state(now) == "valid":
            raise ConfigurationError(
                f"There is already a token {name!r}, with the id {token.id}. Revoke it first, or choose another name."
            )


def _record_use(store: Store, token: Token, now: str) -> None:
    long_ago = as_text(datetime.fromisoformat(now) - _USE_RECORDED_AFTER)
    if token.last_used_at is None or token.last_used_at <= long_ago:
        with suppress(StoreError):  # a store that is busy keeps nobody out
            store.token_used(token.id, used_at=now)


def _expiry(text: str, now: datetime) -> str | None:
    if text == NEVER:
        return None
    ends = _ends(text, now)
    if ends <= now:
        raise ConfigurationError(f"A token cannot expire at {text!r}, which is not in the future.")
    if ends > now + timedelta(days=_MOST_DAYS):
        raise ConfigurationError(
            f"A token can be valid for at most {_MOST_DAYS} days, and {text!r} is later. Choose less, or `{NEVER}`."
        )
    return as_text(ends)


def _ends(text: str, now: datetime) -> datetime:
    if span := _SPAN.fullmatch(text):
        count = int(span[1])
        return now + (timedelta(days=count) if span[2] == "d" else timedelta(hours=count))
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise ConfigurationError(
            f"The expiry {text[:40]!r} cannot be read. Write a time such as 30d or 12h, a date such as 2027-01-01, or "
            f"{NEVER}."
        ) from None
