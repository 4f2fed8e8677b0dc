"""Stores the keys of requests with their answers, so that a request sent twice is carried out once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select, text, update

from prompt_evaluator.model.request_key import Answered, Claimed, Different, InProgress
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.result_tables import REQUEST_KEYS
from prompt_evaluator.store.texts import clean, storable

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from prompt_evaluator.model.request_key import Claim

_KEYS = REQUEST_KEYS.c
_INSERT = text(
    "INSERT INTO request_keys (key, request_hash, created_at) VALUES (:key, :request_hash, :created_at) "
    "ON CONFLICT DO NOTHING"
)
"""As text: both databases take it, and the class for it loads all of PostgreSQL's dialect, 0.05 s of every command."""


class RequestKeys(Access):
    """Keys of requests."""

    def claim_key(self, key: str, request_hash: str, now: str, *, abandoned_before: str, kept_since: str) -> Claim:
        """Claim a key for a request. Of several that claim it at once, one succeeds.

        Args:
            key: Given by the caller.
            request_hash: Equal for equal requests.
            now: The time of the claim.
            abandoned_before: An unanswered claim from before this time may be claimed again for the same request.
            kept_since: Keys claimed before this time are deleted.
        """
        key = storable(key)
        values = {"key": key, "request_hash": request_hash, "created_at": now}
        with self._write() as connection:
            connection.execute(delete(REQUEST_KEYS).where(ordered(connection, _KEYS.created_at) < kept_since))
            while True:
                if _inserted(connection, values):
                    return Claimed(key=key, claimed_at=now)
                row = connection.execute(select(REQUEST_KEYS).where(_KEYS.key == key).with_for_update()).first()
                if row is None:  # released in the meantime
                    continue
                if row.request_hash != request_hash:
                    return Different()
                if row.answer is not None:
                    return Answered(answer=row.answer)
                if row.created_at >= abandoned_before:
                    return InProgress()
                connection.execute(update(REQUEST_KEYS).where(_KEYS.key == key).values(created_at=now))
                return Claimed(key=key, claimed_at=now)

    def answer_key(self, claim: Claimed, answer: str) -> None:
        """Keep the answer to a request, unless somebody else has claimed its key since."""
        with self._write() as connection:
            connection.execute(update(REQUEST_KEYS).where(*_of(claim)).values(answer=clean(answer)))

    def release_key(self, claim: Claimed) -> None:
        """Let the request be sent again, because it was not carried out."""
        with self._write() as connection:
            connection.execute(delete(REQUEST_KEYS).where(*_of(claim)))


def _of(claim: Claimed) -> tuple[ColumnElement[bool], ...]:
    return (_KEYS.key == claim.key, _KEYS.created_at == claim.claimed_at, _KEYS.answer.is_(None))


def _inserted(connection: Connection, values: dict[str, str]) -> bool:
    return connection.execute(_INSERT, values).rowcount == 1
