"""What every engine promises to the driver, whether its workers are in this process or in others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from encoding_engine import EncodingEngine

from prompt_evaluator.engines.local import LocalEngine
from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import MetricUse, TestCase, Unit
from prompt_evaluator.model.work import ItemEnd, StopCause, WorkItem
from prompt_evaluator.pipeline.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ray_head import RayHead

    from prompt_evaluator.ports import Engine, UnitSink

CASE = TestCase(
    id="tea / über",
    input="How long?",
    metadata={"tags": ["a", None, 1.5], "nested": {"ok": True}},
    checks=(MetricUse(metric="length", options={"max_words": 3}),),
)


@pytest.fixture(params=["local", "encoding", "ray"])
def make(request: pytest.FixtureRequest) -> Callable[[int], Engine]:
    """Makes an engine that works on so many items at once; the one of Ray, in two processes."""
    if request.param != "ray":
        return LocalEngine if request.param == "local" else EncodingEngine
    head: RayHead = request.getfixturevalue("ray_head")
    from ray_bridge import BridgedEngine  # noqa: PLC0415 - only where Ray is installed

    return lambda count: BridgedEngine(count, head.address)


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not true():  # noqa: ASYNC110 - anything may become true
            await asyncio.sleep(0.001)


def items(count: int, *, at_once: int = 10) -> Feed[WorkItem]:
    batches = [range(start, min(count, start + at_once)) for start in range(0, count, at_once)]

    async def load() -> Sequence[WorkItem] | None:
        await asyncio.sleep(0)
        return [WorkItem(case=CASE, sample=sample) for sample in batches.pop(0)] if batches else None

    return Feed(load)


def unit(item: WorkItem, name: bytes = b"\x00\xff", *, data: bytes = b'{"a":"\\u0000"}') -> Unit:
    return Unit(case_id=item.case.id, name=name, kind="generation", sample=item.sample, ok=True, data=data)


class Told:
    """Everything that an engine tells, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self.units: list[Unit] = []
        self.ends: list[ItemEnd] = []
        self.under_way = self.most = 0

    def began(self, case_id: str, sample: int) -> None:
        assert case_id == CASE.id
        self.told.append(("began", sample))
        self.under_way += 1
        self.most = max(self.most, self.under_way)

    def put(self, unit: Unit, done: object = None) -> None:  # noqa: ARG002 - the port's signature
        self.told.append(("put", unit.sample))
        self.units.append(unit)

    async def wait_for_capacity(self) -> None: ...

    async def stored(self) -> None: ...

    async def ended(self, end: ItemEnd) -> None:
        self.told.append(("ended", end.sample))
        self.ends.append(end)
        self.under_way -= 1

    def samples(self, what: str) -> list[int]:
        return sorted(sample for kind, sample in self.told if kind == what)


class Worker:
    """Does with each item what it is told to, and hands over one unit."""

    def __init__(self, out: UnitSink, work: Callable[[WorkItem], Awaitable[None]]) -> None:
        self._out, self._work = out, work

    async def work(self, item: WorkItem) -> ItemEnd:
        self._out.put(unit(item))
        await self._work(item)
        return ItemEnd(case_id=item.case.id, sample=item.sample, state="finished")


async def run(engine: Engine, feed: Feed[WorkItem], told: Told, work: Callable[[WorkItem], Awaitable[None]]) -> None:
    await engine.run(feed, lambda out: Worker(out, work), told)
    await feed.close()


async def nothing(_item: WorkItem) -> None:
    await asyncio.sleep(0)


async def test_every_item_begins_once_hands_over_its_units_and_ends(make: Callable[[int], Engine]) -> None:
    told = Told()

    await run(make(7), items(25), told, nothing)

    assert told.samples("began") == told.samples("put") == told.samples("ended") == list(range(25))
    assert told.told.index(("put", 3)) < told.told.index(("ended", 3))


async def test_units_and_ends_arrive_as_they_were_made(make: Callable[[int], Engine]) -> None:
    told = Told()
    seen: list[WorkItem] = []

    async def look(item: WorkItem) -> None:
        seen.append(item)

    first = WorkItem(case=CASE, sample=0, own=(unit(WorkItem(case=CASE, sample=0), b"own"),), until="answer")
    batch: list[Sequence[WorkItem] | None] = [[first], None]

    async def load() -> Sequence[WorkItem] | None:
        return batch.pop(0)

    await run(make(1), Feed(load), told, look)

    assert seen == [first]
    assert told.units == [unit(first)]
    assert told.ends == [ItemEnd(case_id=CASE.id, sample=0, state="finished")]


async def test_no_more_items_are_in_progress_than_there_are_workers(make: Callable[[int], Engine]) -> None:
    told = Told()

    async def work(_item: WorkItem) -> None:
        await asyncio.sleep(0.001)

    await run(make(4), items(40), told, work)

    assert told.most == 4


async def test_a_stop_takes_no_more_items_and_waits_for_those_in_progress(make: Callable[[int], Engine]) -> None:
    engine, told, go_on = make(4), Told(), asyncio.Event()

    async def work(_item: WorkItem) -> None:
        await go_on.wait()

    running = asyncio.create_task(run(engine, items(40), told, work))
    await until(lambda: told.under_way == 4)
    engine.stop(None)
    await asyncio.sleep(0.01)
    assert not told.ends
    go_on.set()
    await running

    assert told.samples("ended") == told.samples("began") == [0, 1, 2, 3]


async def test_what_is_not_finished_in_time_after_a_stop_is_given_up(make: Callable[[int], Engine]) -> None:
    engine, told = make(2), Told()

    async def work(item: WorkItem) -> None:
        if item.sample == 0:
            return
        await until(lambda: told.ends)
        engine.stop(0.01)
        await asyncio.sleep(600)

    await asyncio.wait_for(run(engine, items(10), told, work), 120)

    assert told.samples("ended") == [0]


async def test_a_second_stop_can_only_shorten_the_first(make: Callable[[int], Engine]) -> None:
    engine, told = make(2), Told()

    async def work(_item: WorkItem) -> None:
        engine.stop(None)
        engine.stop(0.01)
        engine.stop(60)
        engine.stop(None)
        await asyncio.sleep(600)

    await asyncio.wait_for(run(engine, items(10), told, work), 120)

    assert not told.ends


async def test_an_error_of_a_worker_ends_the_others_and_is_raised(make: Callable[[int], Engine]) -> None:
    started, cancelled = list[int](), list[int]()

    async def work(item: WorkItem) -> None:
        started.append(item.sample)
        if item.sample == 3:
            await until(lambda: len(started) == 5)
            raise StoreError("The disk is full.")
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.append(item.sample)
            raise

    with pytest.raises(StoreError, match="full"):
        await run(make(5), items(10), Told(), work)

    assert sorted(cancelled) == [0, 1, 2, 4]


async def test_an_item_that_was_stopped_says_why(make: Callable[[int], Engine]) -> None:
    told = Told()
    cause = StopCause(kind="CircuitOpenError", message="m: stopped.", provider="m")

    class Stopping(Worker):
        async def work(self, item: WorkItem) -> ItemEnd:
            return ItemEnd(case_id=item.case.id, sample=item.sample, state="stopped", cause=cause)

    await make(1).run(items(1), lambda out: Stopping(out, nothing), told)

    assert told.ends == [ItemEnd(case_id=CASE.id, sample=0, state="stopped", cause=cause)]


async def test_an_item_that_is_handed_out_again_comes_before_all_others(make: Callable[[int], Engine]) -> None:
    feed, seen = items(5), list[int]()

    class Again(Told):
        async def ended(self, end: ItemEnd) -> None:
            if end.sample == 1 and seen.count(1) == 1:
                feed.again(WorkItem(case=CASE, sample=1))
            await super().ended(end)

    async def look(item: WorkItem) -> None:
        seen.append(item.sample)

    await run(make(1), feed, Again(), look)

    assert seen == [0, 1, 1, 2, 3, 4]
