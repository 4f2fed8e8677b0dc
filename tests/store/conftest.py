"""A store of either kind, and short ways to write what goes into it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack, closing
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from prompt_evaluator.model import DatasetRef, Label, RunPlan, RunRecord, Target, TestCase, Unit
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from postgres_server import Cluster

CHILD = """
    import asyncio, hashlib, sys
    from prompt_evaluator.errors import *
    from prompt_evaluator.model import Unit
    from prompt_evaluator.store import Store

    def unit(at, who="", ok=True):
        name = hashlib.sha256(f"{who}{at}".encode()).digest()
        return Unit(case_id=f"case-{at % 10}", name=name, kind="generation", sample=at, ok=ok, data=b"{}" * 500)

    location, arguments = sys.argv[1], sys.argv[2:]
"""


def record(run_id: str = "run-0001", *, started_at: str = "2025-01-01T00:00:00Z", **plan: Any) -> RunRecord:
    values: dict[str, Any] = {
        "group_id": "group",
        "dataset": DatasetRef(path="/d.jsonl", hash="sha256:0", count=10, selected=10),
        "rubric": None,
        "target": Target(model="mock/default", identity="mock"),
        "judge": None,
        "num_samples": 5,
        "output_dir": "/out",
    }
    return RunRecord(plan=RunPlan(run_id=run_id, **{**values, **plan}), status="running", started_at=started_at)


def unit(case_id: str = "case-0", name: bytes = b"name", **values: Any) -> Unit:
    return Unit(case_id=case_id, name=name, **{"kind": "generation", "sample": 0, "ok": True, "data": b"{}", **values})


def label(run_id: str = "run-0001", **values: Any) -> Label:
    given: dict[str, Any] = {
        "case_id": "case-0",
        "sample": 0,
        "metric": "clarity",
        "value": 4.0,
        "reviewer": "anna",
        "created_at": "2025-01-01T00:00:00.000Z",
        "answer_hash": "0" * 64,
    }
    return Label(run_id=run_id, **{**given, **values})


def cases(count: int = 10) -> Iterator[TestCase]:
    return (TestCase(id=f"case-{at}", input=f"input {at}", metadata={"n": at}) for at in range(count))


@pytest.fixture(params=["file", "server"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where a store can be made; `ON_FILE` and `ON_SERVER` ask for one kind."""
    if request.param == "file":
        return tmp_path / "state" / "store.db"
    address: str = request.getfixturevalue("database")
    return address


@pytest.fixture
def store(location: Path | str) -> Iterator[Store]:
    opened = Store.open(location)
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=["file", "server"])
def shared_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """For tests of one module that only read: it is filled once."""
    with ExitStack() as stack:
        location: Path | str = tmp_path_factory.mktemp("shared") / "store.db"
        if request.param == "server":
            cluster: Cluster = request.getfixturevalue("cluster")
            location = cluster.address(stack.enter_context(cluster.database()))
        yield stack.enter_context(closing(Store.open(location)))


@pytest.fixture
def run_id(store: Store) -> str:
    store.create_run(record(), cases())
    return "run-0001"


@pytest.fixture
def child(location: Path | str) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a program that has `location`, `arguments`, `Store` and `unit`."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str) -> subprocess.Popen[str]:
        source = dedent(CHILD) + dedent(program)
        command = [sys.executable, "-c", source, str(location), *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(name="record", scope="session")
def _record() -> Callable[..., RunRecord]:
    return record


@pytest.fixture(name="unit")
def _unit() -> Callable[..., Unit]:
    return unit


@pytest.fixture(name="label")
def _label() -> Callable[..., Label]:
    return label


@pytest.fixture(name="cases")
def _cases() -> Callable[..., Iterator[TestCase]]:
    return cases
