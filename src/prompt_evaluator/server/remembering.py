"""Keeps what took long to find out about runs that have ended: it does not change any more."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock, RLock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """A few values by key, the least recently used of which are forgotten. May be used from any thread."""

    def __init__(self, most: int) -> None:
        """Start empty.

        Args:
            most: How many values to keep.
        """
        self._most, self._lock, self._turn = most, Lock(), RLock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def __contains__(self, key: K) -> bool:
        with self._lock:
            return key in self._values

    def find(self, key: K) -> V | None:
        """The value of a key; None if it is not known."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def keep(self, key: K, value: V) -> None:
        """Remember the value of a key."""
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def get(self, key: K, make: Callable[[], V], *, keep: bool = True) -> V:
        """The value of a key, made now if it is not known; kept only if it will not change.

        What is kept is made one after the other, so that several who ask at once have it made once.
        """
        if not keep:
            return make()
        known = self.find(key)
        if known is None:
            with self._turn:
                known = self.find(key)
                if known is None:
                    known = make()
                    self.keep(key, known)
        return known
