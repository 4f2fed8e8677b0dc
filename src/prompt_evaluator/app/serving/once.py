"""Carries out a request that is sent twice once."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.request_keys import answer, claim, release
from prompt_evaluator.app.serving.asking import RefusedFieldError
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import RunBusyError
from prompt_evaluator.model.request_key import Answered, Different, InProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.config.loading import Settings

_FIELD = "Idempotency-Key"


def once(settings: Settings, key: str, request: msgspec.Struct, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Make something, or return what was made when the same request came with this key before.

    Raises:
        RunBusyError: The same request is being carried out now.
        RefusedFieldError: The key came with another request.
    """
    store = open_store(settings)
    digest = sha256(msgspec.json.encode(request, order="deterministic")).hexdigest()
    found = claim(store, key, digest, now=now())
    if isinstance(found, Answered):
        known: dict[str, Any] = msgspec.json.decode(found.answer)
        return known
    if isinstance(found, InProgress):
        raise RunBusyError("The same request is being carried out. Send it again in a moment to get its answer.")
    if isinstance(found, Different):
        raise RefusedFieldError(_FIELD, "This Idempotency-Key came with another request. Choose another key.")
    try:
        made = make()
    except BaseException:
        release(store, found)
        raise
    answer(store, found, msgspec.json.encode(made).decode())
    return made
