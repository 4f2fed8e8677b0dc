"""A provider that says what it was told to say, and remembers what it was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prompt_evaluator.errors import ProviderError
from prompt_evaluator.model import Answer, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model import Request


class ScriptedProvider:
    """Each call takes the next reply; a call beyond the last is a mistake of whoever makes it."""

    name: ClassVar[str] = "scripted"

    def __init__(self, replies: Iterable[str | ProviderError | Answer]) -> None:
        self._replies = list(replies)
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Answer:
        self.asked.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, ProviderError):
            raise reply
        return reply if isinstance(reply, Answer) else answer(reply)

    async def close(self) -> None:
        """There is nothing to let go of."""


def answer(text: str, *, finish_reason: str = "stop") -> Answer:
    """An answer that cost something."""
    usage = Usage(input_tokens=100, output_tokens=20)
    return Answer(text=text, finish_reason=finish_reason, usage=usage, cost=0.01, latency_ms=5.0, model="m", tries=2)
