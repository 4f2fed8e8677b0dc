"""What a test may not leave behind, and how it waits for the end of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def open_files() -> list[int]:
    return [int(path.name) for path in Path("/proc/self/fd").iterdir()]


async def becomes_true(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not fact():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.005)
