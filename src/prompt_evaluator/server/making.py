"""Makes what takes seconds in threads of its own, each value once, while those who ask for it wait or come back."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Lock, Semaphore, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")

_AT_ONCE = 2
_MOST_LEFT = 8
"""Values that nobody came back for."""


class Making(Generic[K, V]):
    """Values in the making, by key. May be used from any thread."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock, self._turn = Lock(), Semaphore(_AT_ONCE)
        self._begun: dict[K, Future[V]] = {}

    def begun(self, key: K, make: Callable[[], V]) -> Future[V]:
        """The value of a key, whose making begins now unless it has begun."""
        with self._lock:
            if key not in self._begun:
                self._forget_old()
                made: Future[V] = Future()
                self._begun[key] = made
                # A thread of an executor would keep the server from ending before it is through.
                Thread(target=self._make, args=(make, made), daemon=True).start()
            return self._begun[key]

    def take(self, key: K) -> None:
        """Forget a value that has reached those who waited for it: the next one who asks has it made again."""
        with self._lock:
            self._begun.pop(key, None)

    def _make(self, make: Callable[[], V], made: Future[V]) -> None:
        with self._turn:
            try:
                made.set_result(make())
            except BaseException as error:  # noqa: BLE001 - those who wait for the value get it
                made.set_exception(error)

    def _forget_old(self) -> None:
        left = [key for key, value in self._begun.items() if value.done()]
        for key in left[:-_MOST_LEFT]:
            del self._begun[key]
