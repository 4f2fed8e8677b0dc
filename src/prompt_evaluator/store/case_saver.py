"""Writes case files during a run: on the event loop if the disk is fast, otherwise in a thread."""

from __future__ import annotations

import asyncio
import queue
import threading
from time import perf_counter
from typing import TYPE_CHECKING

from prompt_evaluator.errors import StoreError

if TYPE_CHECKING:
    from prompt_evaluator.store.artifacts import CaseFiles, RunFolder

_QUICK = 0.005
"""Seconds that writing a file may block the event loop. Below that, a thread would cost the loop more, because each
system call releases the GIL and takes it back."""
_SLOW_FACTOR = 100
"""After a slow file, use the thread for this many times as long as it took, so the disk costs the loop at most 1 %."""
_MOST_WAITING = 256


class CaseSaver:
    """Writes the files of finished cases. Used from one event loop; `close` waits until all are written."""

    def __init__(self, folder: RunFolder, files: CaseFiles) -> None:
        self._folder, self._files = folder, files
        self._slow_until = 0.0
        self._queue: queue.Queue[tuple[str, bytes] | None] = queue.Queue(maxsize=_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._error: StoreError | None = None

    async def save(self, case_id: str, text: bytes) -> None:
        """Write or queue a case's file. Raise an earlier failure, so that the run stops paying for lost output."""
        self._check()
        start = perf_counter()
        if start < self._slow_until:
            await self._hand_over(case_id, text)
            return
        self.write(case_id, text)
        took = perf_counter() - start
        if took > _QUICK:
            self._slow_until = start + _SLOW_FACTOR * took

    def close(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        self._check()

    async def _hand_over(self, case_id: str, text: bytes) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="case-files")
            self._thread.start()
        try:
            self._queue.put_nowait((case_id, text))
        except queue.Full:
            await asyncio.to_thread(self._queue.put, (case_id, text))

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        while (case := self._queue.get()) is not None:
            if self._error is None:
                try:
                    self.write(*case)
                except StoreError as error:
                    self._error = error

    def write(self, case_id: str, text: bytes) -> None:
        self._folder.write_case(self._files.name(case_id), text + b"\n")
