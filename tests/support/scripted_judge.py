"""A judge that says what it was told to say, in the shapes that our metrics ask for, and remembers the questions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.errors import ProviderError
from prompt_evaluator.model import Answer, Message, TestCase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CASE = TestCase(
    id="tea",
    input="How long should green tea steep?",
    reference="Two to three minutes. The water has 80 degrees.",
    metadata={"context": ["Green tea steeps for three minutes.", "Black tea steeps for five minutes."]},
)


class Asked(NamedTuple):
    """One question."""

    messages: tuple[Message, ...]
    schema: dict[str, Any] | None
    top_logprobs: int | None
    sample: int


class ScriptedJudge:
    """Each question takes the next reply; one beyond the last is a mistake of whoever asks it."""

    def __init__(self, *replies: str | Answer | ProviderError | dict[str, Any]) -> None:
        self._replies = list(replies)
        self.asked: list[Asked] = []

    async def ask(
        self,
        messages: tuple[Message, ...],
        *,
        schema: dict[str, Any] | None = None,
        top_logprobs: int | None = None,
        sample: int = 0,
    ) -> Answer:
        self.asked.append(Asked(messages, schema, top_logprobs, sample))
        reply = self._replies.pop(0)
        if isinstance(reply, ProviderError):
            raise reply
        if isinstance(reply, dict):
            reply = json.dumps(reply)
        return reply if isinstance(reply, Answer) else said(reply)

    @property
    def left(self) -> int:
        """Replies that nobody has asked for."""
        return len(self._replies)


def said(text: str, **more: Any) -> Answer:
    return Answer(text=text, latency_ms=1.0, model="judge", **more)


def about_numbers(verdicts: Sequence[str]) -> dict[str, Any]:
    """Verdicts on texts that were numbered."""
    return {"verdicts": [{"number": n, "reason": f"Why {n}.", "verdict": v} for n, v in enumerate(verdicts, start=1)]}


def about_texts(key: str, verdicts: Iterable[str]) -> dict[str, Any]:
    """Verdicts on texts that the judge names."""
    return {
        "verdicts": [{key: f"Text {n}.", "reason": f"Why {n}.", "verdict": v} for n, v in enumerate(verdicts, start=1)]
    }


def texts(count: int) -> list[str]:
    return [f"Text {n}." for n in range(1, count + 1)]
