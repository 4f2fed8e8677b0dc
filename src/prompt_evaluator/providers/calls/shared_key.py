"""One key whose limits are kept together with other processes. Everything that waits for the store is in a thread."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.ports import SharedLimits

T = TypeVar("T")


class StoreThread:
    """One thread for all that calls ask of the store, so that they need not wait for other work in threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "shared limits")

    def ask(self, question: Callable[[], T], answered: Callable[[T | StoreError], None]) -> None:
        """Ask the store something, and call `answered` on the event loop with the answer, or why there is none."""
        asked = asyncio.get_running_loop().run_in_executor(self._threads, _attempt, question)
        asked.add_done_callback(lambda done: None if done.cancelled() else answered(done.result()))

    def tell(self, what: Callable[[], None]) -> None:
        """Tell the store something. It is lost if the store cannot be reached."""
        self._threads.submit(_attempt, what)

    async def drain(self) -> None:
        """Return when everything has been asked and told, and what followed from the answers."""
        for _ in range(2):
            await asyncio.get_running_loop().run_in_executor(self._threads, lambda: None)

    async def close(self) -> None:
        """End the thread when it has nothing left to do."""
        await self.drain()
        await asyncio.to_thread(self._threads.shutdown)


class SharedKey:
    """A key at an endpoint, as the store knows it: by a digest."""

    def __init__(self, limits: SharedLimits, thread: StoreThread, endpoint: str, key: Secret | None) -> None:
        self._limits, self._thread = limits, thread
        self._endpoint, self._key = endpoint, key
        self._digest: str | None = None

    def reserve(self, kind: str, seconds: float, slack: float, answered: Callable[[float | StoreError], None]) -> None:
        """Take the next piece of a limit's time, and call `answered` with the seconds until it begins."""
        self._thread.ask(lambda: self._limits.reserve(self.digest(), kind, seconds, slack), answered)

    def give_back(self, kind: str, seconds: float) -> None:
        self._thread.tell(lambda: _ignored(self._limits.reserve(self.digest(), kind, -seconds, 0.0)))

    def hold(self, seconds: float) -> None:
        """Let nobody call with this key for so long."""
        self._thread.tell(lambda: self._limits.hold(self.digest(), seconds))

    def digest(self) -> str:
        """Names the key in the store. Slow the first time; only for the store's thread."""
        if self._digest is None:
            self._digest = (self._key or Secret("")).digest(self._limits.salt(), self._endpoint)
        return self._digest


def _attempt(question: Callable[[], T]) -> T | StoreError:
    try:
        return question()
    except StoreError as error:
        return error


def _ignored(_value: object) -> None: ...
