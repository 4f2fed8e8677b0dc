"""Case files beside a busy event loop: at once where the disk is quick, on a thread where it is not."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from typing import cast

import pytest

from prompt_evaluator.errors import StoreError
from prompt_evaluator.store.artifacts import CaseFiles, RunFolder
from prompt_evaluator.store.case_saver import CaseSaver


class Disk:
    """Takes as long as it is told, remembers who wrote what, and is full from some file on."""

    def __init__(self, *, seconds: float = 0.0, room: int = 1_000) -> None:
        self.seconds, self.room = seconds, room
        self.written: list[tuple[str, str]] = []

    def write_case(self, name: str, _data: bytes) -> None:
        time.sleep(self.seconds)
        if len(self.written) == self.room:
            raise StoreError("The disk is full.")
        self.written.append((name, threading.current_thread().name))


def saver_on(disk: Disk) -> CaseSaver:
    return CaseSaver(cast("RunFolder", disk), CaseFiles([]))


async def save(saver: CaseSaver, *numbers: int) -> None:
    for number in numbers:
        await saver.save(f"case-{number}", b"{}")


async def test_a_file_is_there_as_soon_as_its_case_has_ended() -> None:
    disk = Disk()
    saver = saver_on(disk)

    await save(saver, 1)

    assert disk.written == [("test_case_case-1.json", "MainThread")]
    saver.close()


async def test_a_slow_disk_holds_up_the_event_loop_once() -> None:
    disk = Disk(seconds=0.02)
    saver = saver_on(disk)

    await save(saver, *range(20))
    saver.close()

    assert sorted(name for name, _ in disk.written) == sorted(f"test_case_case-{number}.json" for number in range(20))
    assert [thread for _, thread in disk.written] == ["MainThread", *["case-files"] * 19]


async def test_a_disk_that_is_quick_again_is_written_to_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prompt_evaluator.store.case_saver._SLOW_FACTOR", 0)
    disk = Disk(seconds=0.02)
    saver = saver_on(disk)
    await save(saver, 1)

    await save(saver, 2)
    saver.close()

    assert [thread for _, thread in disk.written] == ["MainThread"] * 2


async def test_more_files_than_may_wait_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prompt_evaluator.store.case_saver._MOST_WAITING", 2)
    disk = Disk(seconds=0.006)
    saver = saver_on(disk)

    await save(saver, *range(20))

    assert len(disk.written) >= 16
    saver.close()
    assert len(disk.written) == 20


@pytest.mark.parametrize("seconds", [0.0, 0.02], ids=["at once", "on the thread"])
async def test_a_full_disk_stops_the_run(seconds: float) -> None:
    saver = saver_on(Disk(seconds=seconds, room=1))

    with pytest.raises(StoreError, match="is full"):
        await save_until_refused(saver)

    with suppress(StoreError):  # told once more to whoever has not heard it yet
        saver.close()
    assert "case-files" not in [thread.name for thread in threading.enumerate()]


async def save_until_refused(saver: CaseSaver) -> None:
    for number in range(1_000):
        await save(saver, number)
        await asyncio.sleep(0.005)
