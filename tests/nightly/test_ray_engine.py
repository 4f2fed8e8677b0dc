"""What the engine of Ray does beyond the contract: processes that die, and those that cannot be started."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from ray_bridge import BridgedEngine

from prompt_evaluator.errors import EngineError
from prompt_evaluator.model import TestCase
from prompt_evaluator.model.work import ItemEnd, WorkItem
from prompt_evaluator.pipeline.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ray_head import RayHead

    from prompt_evaluator.model import Unit
    from prompt_evaluator.ports import UnitSink

CASE = TestCase(id="tea", input="How long?")


class Driver:
    """Hands out samples, and those that were lost again."""

    def __init__(self, count: int) -> None:
        self.ends: list[ItemEnd] = []
        self._batches: list[list[WorkItem]] = [[WorkItem(case=CASE, sample=sample) for sample in range(count)]]
        self.feed = Feed(self._load)

    async def _load(self) -> Sequence[WorkItem] | None:
        return self._batches.pop() if self._batches else None

    def began(self, case_id: str, sample: int) -> None: ...

    def put(self, unit: Unit, done: object = None) -> None: ...

    async def wait_for_capacity(self) -> None: ...

    async def stored(self) -> None: ...

    async def ended(self, end: ItemEnd) -> None:
        self.ends.append(end)
        if end.state == "lost":
            self.feed.again(WorkItem(case=CASE, sample=end.sample))

    def samples(self, state: str) -> list[int]:
        return sorted(end.sample for end in self.ends if end.state == state)


class Kills:
    """A worker whose process gets a signal at some items: at each so many times."""

    def __init__(self, engine: BridgedEngine, times: dict[int, int], sent: signal.Signals) -> None:
        self._process, self._times, self._sent = engine.processes[-1], times, sent

    async def work(self, item: WorkItem) -> ItemEnd:
        if self._times.get(item.sample):
            self._times[item.sample] -= 1
            os.kill(self._process, self._sent)
            await asyncio.sleep(600)
        return ItemEnd(case_id=CASE.id, sample=item.sample, state="finished")


async def run(
    engine: BridgedEngine, driver: Driver, times: dict[int, int], sent: signal.Signals = signal.SIGKILL
) -> None:
    def make(_sink: UnitSink) -> Kills:
        return Kills(engine, times, sent)

    await engine.run(driver.feed, make, driver)
    await driver.feed.close()


async def test_what_a_dead_process_worked_on_is_lost_and_handed_out_again_to_another(ray_head: RayHead) -> None:
    engine, driver = BridgedEngine(2, ray_head.address), Driver(8)

    await run(engine, driver, {3: 1})

    assert 3 in driver.samples("lost")
    assert driver.samples("finished") == list(range(8))
    assert len(set(engine.processes)) > 1


async def test_a_process_that_is_stopped_counts_as_dead_after_a_while(ray_head: RayHead) -> None:
    engine, driver = BridgedEngine(2, ray_head.address, silence=5), Driver(8)

    await run(engine, driver, {3: 1}, signal.SIGSTOP)

    assert 3 in driver.samples("lost")
    assert driver.samples("finished") == list(range(8))


async def test_an_item_that_kills_every_process_ends_the_run_and_is_named(ray_head: RayHead) -> None:
    engine, driver = BridgedEngine(1, ray_head.address), Driver(4)

    with pytest.raises(EngineError, match="died 5 times while they worked on nothing but case tea"):
        await run(engine, driver, {2: 100})

    assert driver.samples("lost") == [2] * 4


async def test_an_item_that_kills_every_process_is_found_among_others_which_go_on(ray_head: RayHead) -> None:
    engine, driver = BridgedEngine(8, ray_head.address), Driver(40)

    with pytest.raises(EngineError, match="died 5 times while they worked on nothing but case tea"):
        await run(engine, driver, {2: 100})

    assert 2 not in driver.samples("finished")
    assert len(driver.samples("finished")) >= 36  # three others may have been there each time, and wait for their turn
    assert driver.samples("lost").count(2) == 6


async def test_worker_processes_of_our_own_ray_have_the_priority_of_the_command(ray_head: RayHead) -> None:
    engine, driver, found = BridgedEngine(2, ray_head.address), Driver(4), set[int]()

    def make(_sink: UnitSink) -> Kills:
        found.add(os.getpriority(os.PRIO_PROCESS, engine.processes[-1]))
        return Kills(engine, {}, signal.SIGKILL)

    await engine.run(driver.feed, make, driver)
    await driver.feed.close()

    assert found == {os.getpriority(os.PRIO_PROCESS, 0)}


async def test_a_process_that_cannot_make_its_worker_ends_the_run_and_says_why(ray_head: RayHead) -> None:
    engine = BridgedEngine(2, ray_head.address, refuse="The code of python:bot:answer differs.")

    with pytest.raises(EngineError, match="python:bot:answer differs"):
        await run(engine, Driver(4), {})
