"""What a unit of work is called: the same question has the same name, in every run and on every machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from prompt_evaluator.model import Request

_encode = msgspec.json.Encoder(order="sorted").encode
_MOST_DIGESTS = 1_000


_digests: dict[int, tuple[object, str]] = {}
"""Of schemas, by `id`: a judge uses the same object for every request, and hashing it each time would cost more than
all the rest. The object is kept, so its `id` stays its own."""


def unit_name(kind: str, identity: str, request: Request) -> bytes:
    """A hash of everything that decides the answer: who is asked, and every part of the request.

    Secrets are in neither. The case itself is not part of it, only what of it was put into the messages.
    """
    asked = (
        request.model,
        [(message.role, message.content) for message in request.messages],
        request.temperature,
        request.max_tokens,
        request.seed,
        request.tools,
        _digest(request.response_schema),
        request.top_logprobs,
        request.sample,
        request.attempt,
        request.options,
    )
    return hashlib.blake2b(_encode((kind, identity, asked)), digest_size=16).digest()


def _digest(schema: dict[str, Any] | None) -> str | None:
    if schema is None:
        return None
    if (known := _digests.get(id(schema))) is None:
        if len(_digests) > _MOST_DIGESTS:
            _digests.clear()
        known = _digests[id(schema)] = (schema, hashlib.blake2b(_encode(schema), digest_size=16).hexdigest())
    return known[1]
