"""What a unit of work is called: the same question has the same name, in every run and on every machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from prompt_evaluator.model import Request

_encode = msgspec.json.Encoder(order="sorted").encode


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
        request.response_schema,
        request.top_logprobs,
        request.sample,
        request.attempt,
        request.options,
    )
    return hashlib.blake2b(_encode((kind, identity, asked)), digest_size=16).digest()
