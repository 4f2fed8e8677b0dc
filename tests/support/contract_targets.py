"""Functions under test, for the provider that calls functions."""

from __future__ import annotations

import asyncio
from typing import Any


def answers(_question: str) -> dict[str, Any]:
    return {"text": "A good answer.", "usage": {"input_tokens": 11, "output_tokens": 7}}


def does_not_count(_question: str) -> str:
    return "A good answer."


def fails(_question: str) -> str:
    raise RuntimeError("out of order")


async def hangs(_question: str) -> str:
    await asyncio.sleep(600)
    return "too late"
