"""Several runs in one process: one store, one pool of connections, one limit for each key; budgets of their own."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from prompt_evaluator import evaluate_async
from prompt_evaluator.app.benchmarks import benchmark_parts, find_dataset
from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.app.groups import run_group
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.calls.meter import Meter
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.model.options import EvaluateOptions
from prompt_evaluator.model.run_limits import RunLimits

if TYPE_CHECKING:
    from pathlib import Path

    from chat_service import ChatService

pytestmark = pytest.mark.usefixtures("served")


@pytest.fixture
def served(here: Path, service: ChatService, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in service.environment.items():
        monkeypatch.setenv(name, value)
    for name in ("tea", "coffee"):
        cases = [{"id": f"{name}-{at}", "input": f"{name} {at}?"} for at in range(6)]
        (here / f"{name}.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return here


def configure(here: Path, **limits: Any) -> None:
    settings = {"providers": {"openai": {"limits": limits}}}
    (here / "prompt_evaluator.yaml").write_text(json.dumps(settings), encoding="utf-8")


def options(here: Path, name: str) -> EvaluateOptions:
    return EvaluateOptions(dataset=here / f"{name}.jsonl", generator_model="openai/test", num_samples=2)


async def test_two_runs_at_the_same_time_are_held_to_one_limit(here: Path, service: ChatService) -> None:
    service.set(latency=0.02)
    configure(here, max_concurrency=3)
    meters = Meter(), Meter()
    async with Workspace(read_settings()) as workspace:
        sessions = [Session(workspace=workspace, meter=meter) for meter in meters]
        outcomes = await asyncio.gather(
            evaluate_dataset(options(here, "tea"), sessions[0]), evaluate_dataset(options(here, "coffee"), sessions[1])
        )

    state = service.state()
    assert [outcome.record.status for outcome in outcomes] == ["completed", "completed"]
    assert state["most_at_once"] <= 3
    assert state["connections"] <= 3
    assert [meter.answers for meter in meters] == [24, 24]
    assert state["paid"] == 48


async def test_the_budget_of_one_run_does_not_stop_the_other(here: Path, service: ChatService) -> None:
    async with Workspace(read_settings()) as workspace:
        poor = Session(workspace=workspace, limits=RunLimits(max_calls=4))
        rich = Session(workspace=workspace)
        stopped, ended = await asyncio.gather(
            evaluate_dataset(options(here, "tea"), poor), evaluate_dataset(options(here, "coffee"), rich)
        )

    assert (stopped.record.status, ended.record.status) == ("aborted", "completed")
    assert service.paid == 4 + 24


async def test_a_cap_on_one_run_does_not_hold_back_the_other(here: Path, service: ChatService) -> None:
    service.set(latency=0.02)
    async with Workspace(read_settings()) as workspace:
        capped = Session(workspace=workspace, limits=RunLimits(max_concurrency=1), meter=Meter())
        free = Session(workspace=workspace)
        outcomes = await asyncio.gather(
            evaluate_dataset(options(here, "tea"), capped), evaluate_dataset(options(here, "coffee"), free)
        )

    assert [outcome.record.status for outcome in outcomes] == ["completed", "completed"]
    assert service.state()["most_at_once"] > 2


async def test_a_group_of_runs_uses_the_same_connections(here: Path, service: ChatService) -> None:
    async with Workspace(read_settings()) as workspace:
        session = Session(workspace=workspace, limits=RunLimits(max_concurrency=1))
        wanted = EvaluateOptions(dataset=None, num_samples=1, rubric=None, metrics=("latency(max_ms=60000)",))
        settings = load_settings(None, {"benchmark.datasets_dir": here})
        found = [find_dataset(settings, name) for name in ("tea", "coffee")]
        parts = benchmark_parts(wanted, found, ["openai/a", "openai/b"])
        members = [member async for member in run_group(parts, session)]

    assert [member.outcome and member.outcome.record.status for member in members] == ["completed"] * 4
    assert service.paid == 24
    assert service.state()["connections"] == 1


async def test_the_store_is_opened_once_and_closed_at_the_end() -> None:
    workspace = Workspace(read_settings())
    async with workspace:
        first = workspace.store
        assert Session(workspace=workspace).store is first

    assert workspace.store is not first
    async with workspace:
        assert workspace.store.runs() == []


async def test_evaluations_from_python_may_share_a_workspace(here: Path, service: ChatService) -> None:
    service.set(latency=0.02)
    configure(here, max_concurrency=2)
    async with Workspace(read_settings()) as workspace:
        found = await asyncio.gather(
            *(
                evaluate_async(here / f"{name}.jsonl", "openai/test", samples=1, workspace=workspace)
                for name in ("tea", "coffee")
            )
        )
        assert len(workspace.store.runs()) == 2

    assert [evaluation.status for evaluation in found] == ["completed", "completed"]
    assert service.state()["most_at_once"] <= 2
