"""Items loaded in batches, one ahead: workers that find none wait, and waiting costs more than a quick call."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from prompt_evaluator.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

T = TypeVar("T")


class Feed(Generic[T]):
    """A stream of items that holds only a few in memory."""

    def __init__(self, load: Callable[[], Coroutine[None, None, Sequence[T] | None]]) -> None:
        """Start empty; `load` returns the next batch, or None at the end."""
        self._load = load
        self._ready: deque[T] = deque()
        self._few = 0
        self._loading: asyncio.Task[Sequence[T] | None] | None = None
        self._ended = False

    async def next(self) -> T | None:
        """Return the next item, or None at the end."""
        while True:
            if self._loading is not None and self._loading.done():
                self._take(self._loading)
            if len(self._ready) <= self._few and not self._ended and self._loading is None:
                self._loading = asyncio.create_task(self._load())
            if self._ready:
                return self._ready.popleft()
            if self._loading is None:
                return None
            await asyncio.wait({self._loading})

    def again(self, item: T) -> None:
        """Put an item back, ahead of all others."""
        self._ready.appendleft(item)

    async def close(self) -> None:
        """Wait for the batch being loaded and discard it. Raise only `StoreError`."""
        if self._loading is not None:
            (loaded,) = await asyncio.gather(self._loading, return_exceptions=True)
            if isinstance(loaded, StoreError):
                raise loaded

    def _take(self, loaded: asyncio.Task[Sequence[T] | None]) -> None:
        self._loading = None
        batch = loaded.result()
        if batch is None:
            self._ended = True
        else:
            self._ready.extend(batch)
            self._few = len(batch)
