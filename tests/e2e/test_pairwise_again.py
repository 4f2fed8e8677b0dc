"""The same pairwise comparison, started again, elsewhere at the same time, or with other options."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from soak import trials
from workspace import REAL, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chat_service import ChatService
    from workspace import Done, Workspace

CASES, SAMPLES = 6, 2
QUESTIONS = 2 * CASES * SAMPLES
BY_RULE = ("--rubric", "none", "--metrics", "length(max_characters=1000)")
SETTINGS = (*REAL, "--seed", "7", "-n", str(SAMPLES), *BY_RULE)
BOTH_WAIT = 4.0
"""Seconds until two processes have looked for the comparison and wait for the store."""


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
    with closing(sqlite3.connect(online.folder / ".prompt_evaluator/store.db")) as store:
        return [run_id for (run_id,) in store.execute("SELECT run_id FROM runs WHERE kind = 'pairwise'")]


@contextmanager
def no_writing(online: Workspace) -> Iterator[None]:
    """Others can read the store, and wait to write to it."""
    path = online.folder / ".prompt_evaluator/store.db"
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as store:
        store.execute("BEGIN IMMEDIATE")
        yield
        store.execute("ROLLBACK")


@pytest.mark.soak
@pytest.mark.parametrize("trial", range(trials(1, soak=10)))
def test_two_processes_that_find_no_comparison_make_one_and_ask_once(
    online: Workspace, service: ChatService, runs: tuple[str, str], trial: int
) -> None:
    with no_writing(online):
        started = [online.start("compare", *runs, "--pairwise", "--json") for _ in range(2)]
        time.sleep(BOTH_WAIT + trial % 3)
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


def test_limits_and_how_runs_are_named_make_no_other_comparison(
    online: Workspace, service: ChatService, runs: tuple[str, str]
) -> None:
    stopped = only(pairwise(online, *runs, "--max-calls", "4"))
    more = only(pairwise(online, runs[0][:8], "@last", "--max-calls", "6", "-j", "1"))
    named = only(pairwise(online, *runs, "--judge-model", "openai/test", "--metric-threshold", "0.5"))

    assert {each["run_id"] for each in (stopped, more, named)} == {stopped["run_id"]}
    assert [each["status"] for each in (stopped, more, named)] == ["aborted", "aborted", "completed"]
    assert pairwise_runs(online) == [stopped["run_id"]]
    assert judged(service) == QUESTIONS


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


def test_a_run_in_progress_is_compared_again_when_it_has_more_answers(
    online: Workspace, service: ChatService, runs: tuple[str, str]
) -> None:
    stopped = online.evaluate(*SETTINGS, "--max-calls", "6", "--seed", "8")
    assert stopped.code == 3
    part = [only(pairwise(online, runs[0], stopped.run_id)) for _ in range(2)]
    paid = judged(service)
    assert online.run("resume", stopped.run_id).code == 0

    whole = only(pairwise(online, runs[0], stopped.run_id))

    assert part[0]["pairs"] == part[1]["pairs"] < whole["pairs"] == CASES * SAMPLES
    assert paid <= judged(service) <= QUESTIONS
