"""Stores tokens with hashes of their secrets. The secrets themselves are stored nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import insert, or_, select, update

from prompt_evaluator.model.token import Token
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.result_tables import TOKENS
from prompt_evaluator.store.texts import clean, storable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import RowMapping

_SHOWN = [TOKENS.c[name] for name in Token.__struct_fields__]


class HashedToken(NamedTuple):
    """A token and the hash of its secret."""

    token: Token
    hash: str


class Tokens(Access):
    """Tokens of a server's users."""

    def add_token(self, token: Token, secret_hash: str) -> None:
        values = {**msgspec.structs.asdict(token), "name": clean(token.name), "hash": secret_hash}
        with self._write() as connection:
            connection.execute(insert(TOKENS).values(values))

    def tokens(self) -> list[Token]:
        """All tokens, oldest first, including those that are no longer valid."""
        with self._read() as connection:
            oldest = (ordered(connection, TOKENS.c.created_at), TOKENS.c.id)
            return [_made(row) for row in connection.execute(select(*_SHOWN).order_by(*oldest)).mappings()]

    def hashed_token(self, token_id: str) -> HashedToken | None:
        wanted = select(*_SHOWN, TOKENS.c.hash).where(TOKENS.c.id == storable(token_id))
        with self._read() as connection:
            row = connection.execute(wanted).mappings().first()
        return HashedToken(_made(row), row["hash"]) if row else None

    def revoke_tokens(self, token_ids: Sequence[str], *, revoked_at: str) -> None:
        """Revoke tokens. Those that already are stay as they are."""
        these = (TOKENS.c.id.in_(token_ids), TOKENS.c.revoked_at.is_(None))
        with self._write() as connection:
            connection.execute(update(TOKENS).where(*these).values(revoked_at=revoked_at))

    def token_used(self, token_id: str, *, used_at: str) -> None:
        """Record the last use of a token, unless a later one is recorded."""
        with self._write() as connection:
            last = ordered(connection, TOKENS.c.last_used_at)
            this = (TOKENS.c.id == token_id, or_(last.is_(None), last < used_at))
            connection.execute(update(TOKENS).where(*this).values(last_used_at=used_at))


def _made(row: RowMapping) -> Token:
    values: dict[str, Any] = {name: row[name] for name in Token.__struct_fields__}
    return msgspec.convert(values, Token)
