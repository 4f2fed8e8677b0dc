"""Which worker process gets which item."""

from __future__ import annotations

import asyncio
from bisect import insort
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from prompt_evaluator.engines.ray.messages import ToWorker
    from prompt_evaluator.model.work import ItemEnd, WorkItem


@dataclass(slots=True, eq=False)
class Given:
    """An item that waits for a process, or is in progress there."""

    number: int
    item: WorkItem
    end: asyncio.Future[ItemEnd]
    deaths: int
    company: int
    """The most items in progress beside it, itself included; see `Suspects`."""
    seat: Seat | None = None


@dataclass(slots=True, eq=False)
class Seat:
    """One worker process."""

    number: int
    actor: Any
    most: int
    """The most items in progress."""
    is_for_suspects: bool = False
    """Whether it takes no others while there are any. One process of a run does, so that the others go on."""
    items: dict[int, Given] = field(default_factory=dict)
    to_send: list[ToWorker] = field(default_factory=list)
    sending: asyncio.Task[None] | None = None
    unconfirmed: int = 0
    """Units it has made that it has not been told to be durable."""
    confirming: asyncio.Task[None] | None = None
    is_ready: bool = False
    has_made_any: bool = False
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    _company: int = field(init=False)

    def __post_init__(self) -> None:
        self._company = self.most

    def has_room(self, given: Given) -> bool:
        """Whether it can take an item now."""
        return self.is_ready and len(self.items) < min(given.company, self._company)

    def take(self, given: Given) -> None:
        given.seat, self.items[given.number] = self, given
        self._company = min(self._company, given.company)

    def release(self, given: Given) -> None:
        self.items.pop(given.number, None)
        if given.company == self._company < self.most:
            self._company = min((other.company for other in self.items.values()), default=self.most)


class Queue:
    """Items that wait for a process. Those that lost theirs most often come first, so suspects precede all others."""

    def __init__(self, most: int) -> None:
        """Start empty; `most` is the most items in progress at one process."""
        self._most = most
        self._waiting: list[Given] = []

    def add(self, given: Given) -> None:
        insort(self._waiting, given, key=lambda other: -other.deaths)

    def discard(self, given: Given) -> None:
        if given in self._waiting:
            self._waiting.remove(given)

    def __iter__(self) -> Iterator[Given]:
        return iter(self._waiting)

    def place(self, seats: Collection[Seat]) -> list[Given]:
        """Have each item that can begin taken by the least busy process, and return these items.

        Suspects go to the process that is for them, or to any if no other item waits.
        """
        suspects = [given for given in self._waiting if given.company < self._most]
        others = self._waiting[len(suspects) :]
        open_to_suspects = [seat for seat in seats if seat.is_for_suspects or not others]
        placed = [given for given in suspects if _taken(given, open_to_suspects)]
        suspects_wait = len(placed) < len(suspects)
        open_to_others = [seat for seat in seats if not (seat.is_for_suspects and suspects_wait)]
        placed += takewhile(lambda given: _taken(given, open_to_others), others)
        if placed:
            self._waiting = [given for given in self._waiting if given.seat is None]
        return placed


def _taken(given: Given, seats: Iterable[Seat]) -> bool:
    """Whether one of the processes has room for an item; it takes it at once."""
    if fitting := [seat for seat in seats if seat.has_room(given)]:
        min(fitting, key=lambda seat: len(seat.items)).take(given)
    return bool(fitting)
