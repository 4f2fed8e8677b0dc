"""Workers of three machines on one PostgreSQL store, and every way to lose one: the run goes on, nothing is lost."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest
from cuttable import Cuttable
from postgres_server import USER
from sqlalchemy import text
from workspace import COMMAND, Workspace, until

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.evaluate import plan_evaluation
from prompt_evaluator.app.serving.queueing import QueuedRun
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.workspace import Workspace as Opened
from prompt_evaluator.model.options import EvaluateOptions
from prompt_evaluator.model.run_limits import RunLimits
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chat_service import ChatService
    from postgres_server import Cluster

KILLS, WINDOW, MACHINES = 100, 8, 3
WAYS = ("kill", "stop", "kill", "cut", "kill", "silence", "kill", "restart", "stop", "cut")
SOON = {"kill": 5.0, "cut": 10.0, "restart": 15.0, "stop": 15.0, "silence": 15.0}
"""Seconds within which most runs have another owner. On a quiet machine a kill takes a quarter of a second."""
AT_LAST = 60.0
_STATE = text("SELECT owner_epoch, status FROM runs WHERE run_id = :run")
_UNITS = text("SELECT case_id, name FROM units WHERE run_id = :run AND ok")
_WORKERS = text("""
    SELECT DISTINCT split_part(application_name, ' ', 2)::int FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'process %'
""")


class Machine:
    """A worker in a process of its own, with its own way to the server."""

    def __init__(self, workspace: Workspace, way: Cuttable, database: str, log: Path) -> None:
        self.way, self._workspace, self._log = way, workspace, log
        self._store = f"postgresql://{USER}@127.0.0.1:{way.port}/{database}"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "work"],
                cwd=self._workspace.folder,
                env={**self._workspace.environment, "PROMPT_EVALUATOR_STORE": self._store},
                stdout=log,
                stderr=log,
            )

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Run(NamedTuple):
    """The run as the store knows it."""

    store: Store
    run_id: str

    def state(self) -> tuple[int, str]:
        with self.store._reading.connect() as connection:  # noqa: SLF001 - shown nowhere
            epoch, status = connection.execute(_STATE, {"run": self.run_id}).one()
        return int(epoch), str(status)

    def units(self) -> set[tuple[str, bytes]]:
        with self.store._reading.connect() as connection:  # noqa: SLF001 - by name, whatever their case
            return {(case, bytes(name)) for case, name in connection.execute(_UNITS, {"run": self.run_id})}

    def workers(self) -> set[int]:
        with self.store._reading.connect() as connection:  # noqa: SLF001 - shown nowhere
            return set(connection.scalars(_WORKERS))

    def owner(self) -> int | None:
        who = self.store.owner(self.run_id)
        return int(who.split()[1]) if who else None


class Lost:
    """Ways to lose the machine that works on a run, and to have it back."""

    def __init__(self, machine: Machine, cluster: Cluster) -> None:
        self._machine, self._cluster = machine, cluster

    def kill(self) -> None:
        self._machine.process.kill()

    def stop(self) -> None:
        self._machine.process.send_signal(signal.SIGSTOP)

    def cut(self) -> None:
        self._machine.way.cut()

    def silence(self) -> None:
        self._machine.way.silence()

    def restart(self) -> None:
        self._cluster.stop()
        self._cluster.start()

    def back(self, way: str) -> None:
        if way == "kill":
            self._machine.process.wait()
            self._machine.start()
        elif way == "stop":
            self._machine.process.send_signal(signal.SIGCONT)
        elif way == "silence":
            self._machine.way.heal()


@pytest.fixture
def ways(cluster: Cluster) -> Iterator[list[Cuttable]]:
    """To the server, for each machine and for the test itself; they stay the same when it is restarted."""
    with ExitStack() as stack:
        yield [stack.enter_context(Cuttable(lambda: cluster.port)) for _ in range(MACHINES + 1)]


def _queued(store: str, cases: int, online: Workspace, monkeypatch: pytest.MonkeyPatch) -> str:
    """Queue a run as a server does."""
    online.cases(cases)
    monkeypatch.chdir(online.folder)
    for name, value in {**online.environment, "PROMPT_EVALUATOR_STORE": store}.items():
        monkeypatch.setenv(name, value)

    async def queued() -> str:
        async with Opened(read_settings()) as workspace:
            options = EvaluateOptions(
                dataset=Path("data.jsonl"), generator_model="openai/test", judge_model="openai/test", num_samples=1
            )
            record = await plan_evaluation(options, Session(workspace=workspace), queued=True)
            run_id = record.plan.run_id
            wanted = QueuedRun(run_id=run_id, limits=RunLimits(max_concurrency=WINDOW), asked_by="anna")
            workspace.store.enqueue(msgspec.to_builtins(wanted), requested_at=now(), run_id=run_id)
            return run_id

    return asyncio.run(queued())


def _lose_one(way: str, run: Run, machines: dict[int, Machine], service: ChatService, cluster: Cluster) -> float:
    """Lose the machine that works on the run, in one way. Return the seconds until another one has it."""
    victim = _next_victim(run)
    machine = next(each for each in machines.values() if each.process.pid == victim)
    before, (epoch, _) = run.units(), run.state()
    lost = Lost(machine, cluster)
    if way != "silence":
        service.set(hold=random.Random(epoch).random() < 0.5)
    since = time.monotonic()
    getattr(lost, way)()
    may_be_back = way in {"cut", "restart"}
    until(lambda: run.state()[0] > epoch and run.owner() not in {None, None if may_be_back else victim}, AT_LAST)
    took = time.monotonic() - since
    service.set(hold=False)
    lost.back(way)
    until(lambda: run.state()[1] == "running" and run.owner() is not None, AT_LAST)
    assert before <= run.units()
    return took


def _next_victim(run: Run) -> int:
    """Wait until a machine has made some progress, and another one is there to follow it."""
    start = len(run.units())
    victims: list[int] = []

    def is_ready() -> bool:
        assert run.state()[1] in {"queued", "running", "aborted"}, "it ended before all was lost"
        victims[:] = [pid for pid in [run.owner()] if pid is not None]
        return bool(victims) and len(run.units()) >= start + WINDOW and bool(run.workers() - {os.getpid(), *victims})

    until(is_ready, AT_LAST)
    return victims[0]


@pytest.mark.timeout(60 * KILLS)
def test_100_losses_of_three_machines_lose_no_result_and_pay_little_twice(  # noqa: PLR0913, PLR0917 - all that is lost
    online: Workspace,
    service: ChatService,
    cluster: Cluster,
    database: str,
    ways: list[Cuttable],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = database.rpartition("/")[2]
    own_way = f"postgresql://{USER}@127.0.0.1:{ways[-1].port}/{name}"
    service.set(latency=1.0)
    run_id = _queued(own_way, 40 * KILLS, online, monkeypatch)
    seconds: dict[str, list[float]] = {way: [] for way in SOON}
    with ExitStack() as stack:
        run = Run(stack.enter_context(closing(Store.open(own_way))), run_id)
        machines = {at: Machine(online, ways[at], name, online.folder / f"{at}.log") for at in range(MACHINES)}
        for machine in machines.values():
            stack.callback(machine.end)
        for at in range(KILLS):
            way = WAYS[at % len(WAYS)]
            seconds[way].append(_lose_one(way, run, machines, service, cluster))
        service.set(latency=0)
        until(lambda: run.state()[1] == "completed", 10 * AT_LAST)
        units = run.units()
    state = service.state()
    extra = state["paid"] - state["distinct"]
    shown = {way: f"{statistics.median(took):.2f}/{max(took):.2f}" for way, took in seconds.items()}
    with capsys.disabled():
        sys.stdout.write(
            f"\n{KILLS} losses; seconds to the next owner, median/most: {shown}; "
            f"{extra} of {state['paid']} calls paid twice, {1.5 * WINDOW * KILLS:g} allowed\n"
        )

    assert len(units) == state["distinct"] == 80 * KILLS
    assert extra <= 1.5 * WINDOW * KILLS
    for way, took in seconds.items():
        assert statistics.median(took) < SOON[way], way
    assert online.artifact(run_id)["status"] == "completed"
