"""Workers made from values share one budget, one meter and prepared metrics."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from linked_engine import LinkedEngine
from ray_head import need_ray
from workspace import timeless

from prompt_evaluator.app.calls import Meter
from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.app.remote.desk import SharedDesk
from prompt_evaluator.app.remote.notes import (
    EndSample,
    GiveBack,
    Granted,
    Refused,
    StartSample,
    Take,
    Withdraw,
    encode,
    read_by_worker,
)
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.calls.budget import Budget
from prompt_evaluator.calls.governor import Governor
from prompt_evaluator.engines.ray import engine as ray_engine
from prompt_evaluator.model import Limits
from prompt_evaluator.model.options import EvaluateOptions
from prompt_evaluator.model.run_limits import RunLimits

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.app.remote.notes import ToDesk, ToWorker
    from prompt_evaluator.model.outcome import Outcome

KIND = ("mock", "default", True)


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvaluateOptions:
    need_ray()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray_engine, "RayEngine", LinkedEngine)
    lines: list[dict[str, Any]] = [{"id": f"case-{at}", "input": f"Question {at}?"} for at in range(12)]
    lines[3] |= {"checks": [{"metric": "length", "max_words": 2}], "reference": "x"}
    (tmp_path / "d.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    (tmp_path / "p.txt").write_text("Answer.")
    return EvaluateOptions(
        dataset=tmp_path / "d.jsonl",
        system_prompt=tmp_path / "p.txt",
        num_samples=3,
        seed=7,
        attempts=2,
        metrics=("correctness",),
    )


async def evaluate(options: EvaluateOptions, engine: str, meter: Meter | None = None, **limits: Any) -> Outcome:
    async with Workspace(read_settings()) as workspace:
        chosen = RunLimits(engine=engine, **limits)
        return await evaluate_dataset(options, Session(workspace=workspace, limits=chosen, meter=meter))


def plain(outcome: Outcome) -> Any:
    """The main artifact without what differs from run to run."""
    return timeless(msgspec.json.decode(outcome.main_file.read_bytes()))


async def test_a_run_and_its_meter_come_to_the_same_with_remote_workers(options: EvaluateOptions) -> None:
    here, there = Meter(), Meter()
    local = await evaluate(options, "local", here)

    remote = await evaluate(options, "ray", there)

    assert remote.record.status == "completed"
    # The second run finds what the judge has prepared for the first.
    counted = ("calls", "tries", "answers")
    assert {name: getattr(there, name) for name in counted} == {name: getattr(here, name) - 1 for name in counted}
    assert plain(remote)["test_case_results"] == plain(local)["test_case_results"]
    assert there.in_flight == 0
    assert not there.gauges


async def test_a_budget_of_calls_holds_over_all_workers_and_leaves_whole_samples(options: EvaluateOptions) -> None:
    options, meter = msgspec.structs.replace(options, attempts=1, metrics=()), Meter()
    stopped = await evaluate(options, "ray", meter, max_calls=20)

    assert stopped.record.status == "aborted"
    assert "budget of 20 calls" in (stopped.record.stop_reason or "")
    assert meter.tries == 20
    assert stopped.result is not None
    assert stopped.result.totals.samples["completed"] == 10
    async with Workspace(read_settings()) as workspace:
        session = Session(workspace=workspace, limits=RunLimits(engine="ray"))
        outcome = await resume_run(stopped.record.plan.run_id, session)
    assert outcome.record.status == "completed"
    assert plain(outcome) == plain(await evaluate(options, "local"))


class Told:
    """A worker as the desk sees it."""

    def __init__(self, desk: SharedDesk, number: int) -> None:
        self.notes: list[ToWorker] = []
        self._desk, self._number = desk, number
        desk.joined(number, lambda note: self.notes.append(read_by_worker(note)))

    async def says(self, *notes: ToDesk) -> list[ToWorker]:
        """Send notes, and return what has been answered so far."""
        for note in notes:
            self._desk.heard(self._number, encode(note))
        for _ in range(5):
            await asyncio.sleep(0)
        return self.notes


async def test_what_a_dead_worker_had_reserved_is_free_again_and_what_it_had_sent_counts() -> None:
    desk = SharedDesk(Budget(max_calls=3), None)
    dies, lives = Told(desk, 1), Told(desk, 2)
    assert await dies.says(StartSample(1, 1, 2), Take(2, 1, KIND, 0.0)) == [Granted(1), Granted(2)]
    assert await lives.says(StartSample(1, 1, 2)) == []  # one call is left, besides the one that is reserved

    desk.left(1)

    assert await lives.says() == [Granted(1)]
    assert await lives.says(Take(2, 1, KIND, 0.0), Take(3, 1, KIND, 0.0)) == [Granted(1), Granted(2), Granted(3)]
    spent = (await lives.says(Take(4, 1, KIND, 0.0)))[-1]
    assert isinstance(spent, Refused)
    assert "The budget of 3 calls is used up" in str(spent.error())


async def test_a_question_that_is_withdrawn_is_answered_and_takes_nothing() -> None:
    desk = SharedDesk(Budget(max_calls=2), None)
    first, second = Told(desk, 1), Told(desk, 2)
    await first.says(StartSample(1, 1, 2))
    assert await second.says(StartSample(1, 1, 2)) == []

    assert isinstance((await second.says(Withdraw(1)))[-1], Refused)
    await first.says(Take(2, 1, KIND, 0.0), GiveBack(1, KIND), EndSample(1))

    assert (await second.says(StartSample(2, 2, 2)))[-1] == Granted(2)


def at_once(governor: Governor, tokens: float = 0) -> int:
    """How many calls may go one after the other without time passing."""
    lane, count = governor.open_lane(100), 0
    while count < 100 and governor.try_enter(lane, tokens):
        governor.leave(lane)
        count += 1
    return count


def test_a_share_of_the_limits_is_a_share_of_each_of_them() -> None:
    def whole(**limits: int) -> Governor:
        return Governor(Limits(**limits), clock=lambda: 100.0)

    def half(**limits: int) -> Governor:
        return Governor(Limits(**limits), clock=lambda: 100.0, share=0.5)

    assert (whole(max_concurrency=9).cap, half(max_concurrency=9).cap, half().cap) == (9, 4, 32)
    assert (at_once(whole(requests_per_minute=600)), at_once(half(requests_per_minute=600))) == (10, 5)
    assert (at_once(whole(tokens_per_minute=1_200), 120), at_once(half(tokens_per_minute=1_200), 120)) == (10, 5)
