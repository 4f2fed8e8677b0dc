"""Processes of a run on Ray make only so many calls more than the driver has stored results."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from fake_ray import FakeRay, Process
from ray_bridge import NoDesk

from prompt_evaluator.engines.local import LocalEngine
from prompt_evaluator.engines.ray.pool import Pool, PoolOptions
from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import TestCase, Unit
from prompt_evaluator.model.work import ItemEnd, WorkItem
from prompt_evaluator.pipeline.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.ports import UnitSink

WORKERS, EACH, CASES = 2, 16, 200


class Driver:
    """Stores units only when the test says so."""

    def __init__(self) -> None:
        self.may_store = asyncio.Event()
        self.failure: StoreError | None = None
        self.got: list[str] = []
        self.finished: list[str] = []
        self._batches = [[WorkItem(case=TestCase(id=f"c{at}", input="?"), sample=0) for at in range(CASES)]]
        self.feed = Feed(self._load)

    async def _load(self) -> Sequence[WorkItem] | None:
        return self._batches.pop() if self._batches else None

    def began(self, case_id: str, sample: int) -> None: ...

    def put(self, unit: Unit, done: object = None) -> None:  # noqa: ARG002 - the port's signature
        self.got.append(unit.case_id)

    async def wait_for_capacity(self) -> None: ...

    async def stored(self) -> None:
        await self.may_store.wait()
        if self.failure is not None:
            raise self.failure

    async def ended(self, end: ItemEnd) -> None:
        self.finished.append(end.case_id)


class Calls:
    """Makes one call for each case."""

    def __init__(self) -> None:
        self.paid = 0

    async def __call__(self, _process: Process, item: WorkItem, sink: UnitSink) -> None:
        await sink.wait_for_capacity()
        self.paid += 1
        await asyncio.sleep(0)
        sink.put(Unit(case_id=item.case.id, name=b"n", kind="generation", sample=0, ok=True, data=b"{}"))


async def run(driver: Driver, calls: Calls) -> None:
    ray, engine = FakeRay(calls), LocalEngine(WORKERS * EACH)
    options = PoolOptions(workers=WORKERS, window=WORKERS * EACH)
    async with Pool(ray, ray.source(), NoDesk(), options, driver) as pool:
        await asyncio.wait_for(engine.run(driver.feed, lambda _sink: pool, driver), 60)
    await driver.feed.close()


async def test_while_nothing_is_durable_at_most_one_and_a_half_windows_of_calls_are_made() -> None:
    driver, calls = Driver(), Calls()
    running = asyncio.create_task(run(driver, calls))

    await asyncio.sleep(0.5)
    paid, got = calls.paid, len(driver.got)
    driver.may_store.set()
    await running

    assert WORKERS * EACH / 2 <= paid <= 1.5 * WORKERS * EACH
    assert got == paid  # what is finished is handed over at once, durable or not
    assert calls.paid == len(driver.finished) == CASES


async def test_a_store_that_fails_ends_the_run_with_its_error() -> None:
    driver, calls = Driver(), Calls()
    driver.failure = StoreError("The disk is full.")
    driver.may_store.set()

    with pytest.raises(StoreError, match="The disk is full"):
        await run(driver, calls)

    assert calls.paid < CASES
