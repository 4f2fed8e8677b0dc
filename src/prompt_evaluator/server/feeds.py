"""News of runs for any number of browsers: one look at the store per run, however many watch it.

A watcher holds nothing but its place. One that does not read keeps nobody waiting and takes no memory; when it reads
again, it goes on where it was, from the store if the feed has forgotten.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from anyio import to_thread

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.serving.live import Look, a_little_before, finished_cases, look_at_run
from prompt_evaluator.errors import StoreError, UnknownNameError
from prompt_evaluator.model.query import MOST_NEWS, NewsPlace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from prompt_evaluator.app.stores import ServedSettings
    from prompt_evaluator.model.query import CaseNews

_EVERY = 0.5
_SHARE = 0.02
"""Of the time may be spent on looks: at a large run, the feed looks less often."""
_REMEMBERED = 2_000
_BEAT = 15.0
"""Seconds after which a silent connection gets a comment, so that nobody between takes it for dead."""
_LINGER = 10.0
_BEGINNING = "0000"
"""Before every time."""
OVER = "over"
_DELETED = Look(status="aborted", stop_reason="the run was deleted", progress=None)


class Place(NamedTuple):
    """Where a watcher is, as its browser sends it back."""

    boot: str
    number: int
    moment: str

    def __str__(self) -> str:
        return f"{self.boot}.{self.number}.{self.moment}"


class _News(NamedTuple):
    number: int
    case: CaseNews


class Feeds:
    """The feeds of one process."""

    def __init__(self, settings: ServedSettings) -> None:
        self._settings = settings
        self._feeds: dict[str, Feed] = {}
        self.closed = asyncio.Event()

    def close(self) -> None:
        """End all connections."""
        self.closed.set()
        for feed in self._feeds.values():
            feed.tell()

    async def watch(self, run_id: str, last: str | None) -> AsyncIterator[bytes]:
        """Yield events as `text/event-stream` until the run is over.

        Args:
            run_id: The run's whole id.
            last: The id of the last event that the watcher got; None for a new one.
        """
        feed = self._feeds.get(run_id)
        if feed is None:
            feed = self._feeds[run_id] = Feed(self._settings, run_id)
        feed.watchers += 1
        try:
            async for piece in feed.events(_place(last), self.closed):
                yield piece
        finally:
            feed.watchers -= 1
            if not feed.watchers:
                asyncio.get_running_loop().call_later(_LINGER, self._forget, feed)

    def _forget(self, feed: Feed) -> None:
        if not feed.watchers and self._feeds.get(feed.run_id) is feed:
            del self._feeds[feed.run_id]
            feed.stop()


class Feed:
    """News of one run."""

    def __init__(self, settings: ServedSettings, run_id: str) -> None:
        """Prepare; the first watcher starts it.

        Args:
            settings: With the store.
            run_id: The run's whole id.
        """
        self.run_id, self.watchers = run_id, 0
        self._settings = settings
        self._boot = secrets.token_hex(4)
        self._news: deque[_News] = deque(maxlen=_REMEMBERED)
        self._count = 0
        self._seen: set[NewsPlace] = set()
        self._newest = now()
        self._look: Look | None = None
        self._looks = 0
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def tell(self) -> None:
        """Wake all watchers."""
        self._changed.set()
        self._changed = asyncio.Event()

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def events(self, last: Place | None, closed: asyncio.Event) -> AsyncIterator[bytes]:
        """Yield the events of one watcher."""
        await self._first_look(closed)
        number, reached, looks = self._count, self._newest, -1
        if last is not None:
            number, reached = (last.number if last.boot == self._boot else -1), last.moment
        yield b"retry: 1000\n\n"
        while not closed.is_set():
            changed, look, seen = self._changed, self._look, self._looks
            count = self._count
            if number < self._oldest - 1:  # the feed has forgotten, or is a new one
                async for piece in self._from_store(reached):
                    yield piece
                number = count
            for news in [news for news in self._news if news.number > number]:
                number, reached = news.number, news.case.ended_at
                yield _event("case", news.case, Place(self._boot, number, reached))
            if look is not None and looks != seen:
                looks = seen
                yield _event("progress", look)
                if look.is_over:
                    yield _event("ended", look, OVER)
                    return
            if self._has_failed and look is self._look:
                return  # the browser comes back, and the looks begin anew
            if not await _within(changed, _BEAT):
                yield b": waiting\n\n"

    async def _first_look(self, closed: asyncio.Event) -> None:
        """Start to look, also again after the run was over: it may have been resumed."""
        if self._task is None or self._task.done():
            self._look = None
            self._task = asyncio.create_task(self._poll())
        while self._look is None and not closed.is_set():
            if self._task.done():
                self._task.result()  # raises what ended it: nobody waits for a look that never comes
            await _within(self._changed, _BEAT)

    @property
    def _has_failed(self) -> bool:
        return self._task is not None and self._task.done()

    @property
    def _oldest(self) -> int:
        return self._news[0].number if self._news else self._count + 1

    async def _from_store(self, moment: str) -> AsyncIterator[bytes]:
        """Yield the cases that ended at this moment or later, also those that the feed has forgotten."""
        since = NewsPlace(moment if moment == _BEGINNING else a_little_before(moment))
        while found := await to_thread.run_sync(finished_cases, self._settings, self.run_id, since):
            for case in found:
                yield _event("case", case, Place(self._boot, self._count, case.ended_at))
            if len(found) < MOST_NEWS:
                return
            since = found[-1].place

    async def _poll(self) -> None:
        try:
            await self._look_again_and_again()
        finally:
            self.tell()

    async def _look_again_and_again(self) -> None:
        while True:
            began = time.monotonic()
            with suppress(StoreError):  # such as one that is locked for a moment
                try:
                    look = await to_thread.run_sync(look_at_run, self._settings, self.run_id)
                except UnknownNameError:
                    look = _DELETED
                while len(await self._more_news()) == MOST_NEWS:
                    pass
                self._look, self._looks = look, self._looks + 1
                self.tell()
                if look.is_over:
                    return
            took = time.monotonic() - began
            await asyncio.sleep(max(_EVERY, took / _SHARE))

    async def _more_news(self) -> list[CaseNews]:
        since = NewsPlace(a_little_before(self._newest))
        found = await to_thread.run_sync(finished_cases, self._settings, self.run_id, since, self._seen)
        for case in found:
            self._seen.add(case.place)
            self._count += 1
            self._news.append(_News(self._count, case))
            self._newest = max(self._newest, case.ended_at)
        if found:
            edge = a_little_before(a_little_before(self._newest))
            self._seen = {place for place in self._seen if place.ended_at >= edge}
        return found


def _place(last: str | None) -> Place | None:
    """Where a watcher was. From an id that is not ours, it starts at the beginning."""
    if last is None:
        return None
    boot, _, rest = last.partition(".")
    number, _, moment = rest.partition(".")
    if number.isascii() and number.isdigit() and len(number) < len(str(2**53)):
        with suppress(ValueError, OverflowError):
            a_little_before(moment)
            return Place(boot, int(number), moment)
    return Place("", 0, _BEGINNING)


def _event(kind: str, data: object, place: Place | str | None = None) -> bytes:
    head = f"id: {place}\n" if place is not None else ""
    return f"{head}event: {kind}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


async def _within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
        return True
    return False
