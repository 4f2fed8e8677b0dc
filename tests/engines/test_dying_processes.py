"""What becomes of a run whose processes die: by themselves, by what a case does, or by kills from outside."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from entries import each
from fake_ray import FakeRay, Process
from ray_bridge import NoDesk

from prompt_evaluator.engines.local import LocalEngine
from prompt_evaluator.engines.ray.pool import Pool, PoolOptions
from prompt_evaluator.engines.ray.suspects import MOST_ALONE
from prompt_evaluator.errors import EngineError
from prompt_evaluator.model import TestCase, Unit
from prompt_evaluator.model.work import ItemEnd, WorkItem
from prompt_evaluator.pipeline.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fake_ray import Work

    from prompt_evaluator.ports import UnitSink


def item(name: str, *units: Unit) -> WorkItem:
    return WorkItem(case=TestCase(id=name, input="?"), sample=0, own=units)


def unit(name: str, step: int = 0) -> Unit:
    return Unit(case_id=name, name=bytes([step]), kind="generation", sample=0, ok=True, data=b"{}")


class Driver:
    """Hands out cases, and those that were lost again with what has arrived of them."""

    def __init__(self, *names: str) -> None:
        self.finished: list[str] = []
        self.lost: list[str] = []
        self.units: dict[str, dict[bytes, Unit]] = {}
        self._batches = [[item(name) for name in names]]
        self.feed = Feed(self._load)

    async def _load(self) -> Sequence[WorkItem] | None:
        return self._batches.pop() if self._batches else None

    def began(self, case_id: str, sample: int) -> None: ...

    def put(self, unit: Unit, done: object = None) -> None:  # noqa: ARG002 - the port's signature
        self.units.setdefault(unit.case_id, {})[unit.name] = unit

    async def wait_for_capacity(self) -> None: ...

    async def stored(self) -> None: ...

    async def ended(self, end: ItemEnd) -> None:
        if end.state == "lost":
            self.lost.append(end.case_id)
            self.feed.again(item(end.case_id, *self.units.get(end.case_id, {}).values()))
        else:
            self.finished.append(end.case_id)


class Trial:
    """A run of some cases in processes that work as the test says."""

    def __init__(self, names: Sequence[str], work: Work, *, workers: int = 2, each: int = 16) -> None:
        self.ray, self.driver, self.engine = FakeRay(work), Driver(*names), LocalEngine(workers * each)
        self.options = PoolOptions(workers=workers, window=workers * each)

    async def run(self) -> None:
        async with Pool(self.ray, self.ray.source(), NoDesk(), self.options, self.driver) as pool:
            self._pool = pool
            await asyncio.wait_for(self.engine.run(self.driver.feed, lambda _sink: pool, self.driver), 60)
        await self.driver.feed.close()

    def stop(self) -> None:
        self.engine.stop(None)
        self._pool.stop()

    @property
    def deaths(self) -> int:
        """Of processes, besides those that ended with the run."""
        return len(self.ray.processes) - self.options.workers


NAMES = [f"c{at}" for at in range(80)]


async def steps(count: int) -> None:
    """Let other tasks go on so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


class Crashes:
    """Kills its process at some cases; keeps who was there at each such time."""

    def __init__(self, *names: str, after: int = 3) -> None:
        self.names, self.company = names, list[int]()
        self._after = after

    async def __call__(self, process: Process, item: WorkItem, _sink: UnitSink) -> None:
        await steps(self._after)
        if item.case.id in self.names:
            self.company.append(len(process.items))
            process.die()
        await steps(20)


@each(("workers", "each"), [(1, 1), (1, 16), (2, 1), (2, 16), (4, 5)])
async def test_a_case_that_crashes_every_process_ends_the_run_and_is_named(workers: int, each: int) -> None:
    work = Crashes("c7")
    trial = Trial(NAMES, work, workers=workers, each=each)

    with pytest.raises(EngineError, match="died 5 times while they worked on nothing but case c7"):
        await trial.run()

    assert work.company[-MOST_ALONE:] == [1] * MOST_ALONE
    assert len(work.company) <= 8
    assert "c7" not in trial.driver.finished


async def test_a_case_that_crashes_after_its_answer_is_named_as_well() -> None:
    async def work(process: Process, item: WorkItem, sink: UnitSink) -> None:
        if not item.own:
            sink.put(unit(item.case.id))
        await steps(20)
        if item.case.id == "c7":
            process.die()

    with pytest.raises(EngineError, match="nothing but case c7"):
        await Trial(NAMES, work).run()


async def test_of_several_cases_that_crash_their_processes_one_is_named_after_few_deaths() -> None:
    guilty = tuple(NAMES[::4])
    trial = Trial(NAMES, Crashes(*guilty))

    with pytest.raises(EngineError) as raised:
        await trial.run()

    assert str(raised.value).split("case ")[1].split(".")[0] in guilty
    assert trial.deaths <= 2 * 8


async def test_processes_that_crash_on_every_case_end_the_run_after_few_deaths() -> None:
    trial = Trial(NAMES, Crashes(*NAMES))

    with pytest.raises(EngineError, match="nothing but case"):
        await trial.run()

    assert trial.deaths <= 2 * 8


async def test_a_crash_that_goes_away_costs_no_case_whoever_was_there() -> None:
    work = Crashes("c7")

    async def six_times(process: Process, item: WorkItem, sink: UnitSink) -> None:
        if len(work.company) == 6:
            work.names = ()
        await work(process, item, sink)

    trial = Trial(NAMES, six_times)
    await trial.run()

    assert sorted(trial.driver.finished) == sorted(NAMES)
    assert trial.deaths == 6


@each("workers", [1, 2, 4])
@each("seed", range(3))
async def test_kills_from_outside_end_no_run_although_items_lose_their_process_many_times(
    workers: int, seed: int
) -> None:
    names, rng = [f"c{at}" for at in range(600)], random.Random(seed)

    async def two_calls(_process: Process, item: WorkItem, sink: UnitSink) -> None:
        for step in range(len(item.own), 2):
            await steps(30)
            sink.put(unit(item.case.id, step))

    async def kill() -> None:  # each process lives about as long as three calls take
        while True:
            await steps(rng.randrange(30 // workers, 150 // workers))
            if trial.ray.living:
                rng.choice(trial.ray.living).die()

    trial = Trial(names, two_calls, workers=workers)
    killing = asyncio.create_task(kill())
    await trial.run()
    killing.cancel()

    assert sorted(trial.driver.finished) == sorted(names)
    assert trial.deaths > 20
    assert max(map(trial.driver.lost.count, names)) >= 3  # some were suspects


async def test_while_a_suspect_is_alone_in_its_process_the_others_go_on() -> None:
    work, finished = Crashes("c7", after=60), list[int]()

    async def look(process: Process, item: WorkItem, sink: UnitSink) -> None:
        if item.case.id == "c7" and len(process.items) == 1:
            finished.append(len(trial.driver.finished))
        await work(process, item, sink)

    trial = Trial([f"c{at}" for at in range(1_000)], look)
    with pytest.raises(EngineError, match="c7"):
        await trial.run()

    assert len(finished) == MOST_ALONE
    assert finished[-1] - finished[0] >= 32  # two whole windows of the other process


async def test_several_suspects_take_turns_and_the_process_is_full_again_afterwards() -> None:
    work, company = Crashes("c3"), list[tuple[str, int]]()

    async def look(process: Process, item: WorkItem, sink: UnitSink) -> None:
        if len(work.company) == 4:
            work.names = ()
        await work(process, item, sink)
        company.append((item.case.id, len(process.items)))

    trial = Trial(NAMES, look, workers=1)
    await trial.run()

    assert work.company == [16, 16, 4, 1]
    suspects = {"c3", *(name for name, count in Counter(trial.driver.lost).items() if count > 2)}
    assert len(suspects) == 4
    assert all(count == 1 for name, count in company if name in suspects)
    assert max(count for _name, count in company[len(suspects) :]) == 16
    assert sorted(trial.driver.finished) == sorted(NAMES)


async def test_a_stop_while_suspects_wait_for_their_turn_ends_the_run() -> None:
    work = Crashes("c7")

    async def stop_when_alone(process: Process, item: WorkItem, sink: UnitSink) -> None:
        if work.company.count(1):
            trial.stop()
        await work(process, item, sink)

    trial = Trial(NAMES, stop_when_alone, workers=1)
    await trial.run()

    assert "c7" not in trial.driver.finished
    assert len(trial.driver.finished) < len(NAMES)


class DyingEarly(FakeRay):
    """Its processes die before they can work, except the first so many."""

    def __init__(self, work: Work, *, healthy: int) -> None:
        super().__init__(work)
        self._healthy = healthy

    def _started(self, window: int) -> Process:
        process = super()._started(window)
        if len(self.processes) > self._healthy:
            asyncio.get_running_loop().call_soon(process.die)
        return process


async def slow(_process: Process, item: WorkItem, sink: UnitSink) -> None:
    await steps(20)
    sink.put(unit(item.case.id))
    await steps(20)


async def test_processes_that_die_before_they_get_an_item_end_the_run() -> None:
    trial = Trial(NAMES, slow)
    trial.ray = DyingEarly(slow, healthy=0)

    with pytest.raises(EngineError, match="die before they get anything to do: The process died"):
        await trial.run()

    assert len(trial.ray.processes) <= 12


async def test_processes_that_die_before_they_get_an_item_end_no_run_while_another_makes_something() -> None:
    trial = Trial(NAMES, slow, each=2)
    trial.ray = DyingEarly(slow, healthy=1)

    await trial.run()

    assert sorted(trial.driver.finished) == sorted(NAMES)
    assert trial.deaths > 20
