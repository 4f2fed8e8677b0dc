"""The same pairwise comparison, started again, elsewhere at the same time, or with other options."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from workspace import REAL, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chat_service import ChatService
    from workspace import Done, Workspace

CASES, SAMPLES = 6, 2
QUESTIONS = 2 * CASES * SAMPLES
BY_RULE = ("--rubric", "none", "--metrics", "length(max_characters=1000)")
SETTINGS = (*REAL, "--seed", "7", "-n", str(SAMPLES), *BY_RULE)
STORE = ".prompt_evaluator/store.db"


@pytest.fixture
def runs(online: Workspace, service: ChatService) -> tuple[str, str]:
    online.cases(CASES)
    baseline = online.evaluate(*SETTINGS).run_id
    service.set(padding=30)
    candidate = online.evaluate(*SETTINGS).run_id
    service.set(prefer="longer", padding=0)
    return baseline, candidate


def pairwise(online: Workspace, *arguments: str) -> Done:
    return online.run("compare", *arguments, "--pairwise", "--json")


def only(done: Done) -> dict[str, Any]:
    assert done.code in (0, 3), done.err
    (found,) = done.json["pairwise"]["comparisons"]
    assert isinstance(found, dict)
    return found


def judged(service: ChatService) -> int:
    count: int = service.state()["kinds"].get("judge", 0)
    return count


def pairwise_runs(online: Workspace) -> list[str]:
    with closing(sqlite3.connect(online.folder / STORE)) as store:
        return [run_id for (run_id,) in store.execute("SELECT run_id FROM runs WHERE kind = 'pairwise'")]


def has_open(pid: int, file: Path) -> bool:
    with suppress(OSError):
        return any(place.resolve() == file for place in Path(f"/proc/{pid}/fd").iterdir())
    return False


@contextmanager
def no_writing(online: Workspace) -> Iterator[None]:
    """Others can read the store, and wait to write to it."""
    path = online.folder / STORE
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as store:
        store.execute("BEGIN IMMEDIATE")
        yield
        store.execute("ROLLBACK")


def test_two_processes_that_find_no_comparison_make_one_and_ask_once(
    online: Workspace, service: ChatService, runs: tuple[str, str]
) -> None:
    with no_writing(online):
        started = [online.start("compare", *runs, "--pairwise", "--json") for _ in range(2)]
        until(lambda: all(has_open(each.process.pid, online.folder / STORE) for each in started))
    done = [each.finish() for each in started]

    busy = [each for each in done if each.code]
    assert all(each.code == 2 and "is in use by process" in each.err for each in busy)
    assert len(busy) <= 1
    assert only(pairwise(online, *runs))["wins"] == CASES * SAMPLES
    assert len(pairwise_runs(online)) == 1
    assert judged(service) == QUESTIONS


def test_a_comparison_that_another_process_is_making_is_refused_and_costs_nothing(
    online: Workspace, service: ChatService, runs: tuple[str, str]
) -> None:
    service.set(hold=True)
    first = online.start("compare", *runs, "--pairwise", "--json", "-j", "2")
    until(lambda: judged(service) == 2)

    second = online.run("compare", *runs, "--pairwise")
    service.set(hold=False)

    assert second.code == 2
    assert "is in use by process" in second.err
    assert second.out == ""
    assert only(first.finish())["wins"] == CASES * SAMPLES
    assert judged(service) == QUESTIONS


def test_a_deleted_comparison_is_made_again_under_its_id(
    online: Workspace, service: ChatService, runs: tuple[str, str]
) -> None:
    first = only(pairwise(online, *runs))
    assert online.run("runs", "delete", first["run_id"], "--yes").code == 0

    second = only(pairwise(online, *runs))

    assert second == first
    assert judged(service) == 2 * QUESTIONS
    assert online.artifact(first["run_id"])["status"] == "completed"


def test_the_other_way_round_and_another_judge_are_other_comparisons(online: Workspace, runs: tuple[str, str]) -> None:
    made = [
        only(pairwise(online, *runs)),
        only(pairwise(online, *reversed(runs))),
        only(pairwise(online, *runs, "--judge-model", "openai/other")),
    ]

    assert sorted(pairwise_runs(online)) == sorted(each["run_id"] for each in made)
    assert len(pairwise_runs(online)) == 3


def test_a_run_that_was_resumed_since_is_compared_anew_and_pays_only_for_what_is_new(
    online: Workspace, service: ChatService, runs: tuple[str, str]
) -> None:
    service.set(rules=[{"kind": "generate", "match": "Question 004", "status": 400}], padding=60)
    candidate = online.evaluate(*SETTINGS).run_id
    service.set(rules=[], padding=60)
    before = only(pairwise(online, runs[0], candidate))
    online.run("resume", candidate, "--retry-errors")

    after = only(pairwise(online, runs[0], candidate))

    assert after["run_id"] != before["run_id"]
    assert (before["missing"], after["missing"]) == (SAMPLES, 0)
    assert judged(service) == QUESTIONS
