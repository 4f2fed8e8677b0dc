"""Parts that many requests share, encoded once: a judge's instructions and schema are longer than most answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.providers.http import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Message

_MOST_KEPT = 32


class SharedParts:
    """Encoded system messages and schemas by `id`: a run uses the same objects in every request."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._known: dict[int, tuple[object, msgspec.Raw]] = {}
        """With the object itself, so that no other object gets its `id`."""

    def encoded(self, part: Message | dict[str, Any]) -> msgspec.Raw:
        """Raises `RequestRefusedError` if the part cannot be encoded."""
        if (known := self._known.get(id(part))) is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            known = self._known[id(part)] = (part, msgspec.Raw(encode(part, self._provider)))
        return known[1]

    def once(self, part: dict[str, Any], write: Callable[[dict[str, Any]], Any]) -> msgspec.Raw:
        """What `write` makes of a part, encoded."""
        if (known := self._known.get(id(part))) is None:
            known = self._known[id(part)] = (part, msgspec.Raw(encode(write(part), self._provider)))
        return known[1]
