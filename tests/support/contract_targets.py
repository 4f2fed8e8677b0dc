"""Functions under test, for the provider that calls functions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from prompt_evaluator.model import Message


def answers(_question: str) -> dict[str, Any]:
    return {"text": "A good answer.", "usage": {"input_tokens": 11, "output_tokens": 7}}


def does_not_count(_question: str) -> str:
    return "A good answer."


def fails(_question: str) -> str:
    raise RuntimeError("out of order")


async def hangs(_question: str) -> str:
    await asyncio.sleep(600)
    return "too late"


def repeats(question: str, *, messages: tuple[Message, ...], params: dict[str, Any]) -> str:
    return msgspec.json.encode({"question": question, "messages": messages, "params": params}).decode()
