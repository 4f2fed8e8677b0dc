"""Samples under way are judged before new ones begin: a budget or an interrupt leaves whole samples."""

from __future__ import annotations

import signal
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

from workspace import REAL, Workspace, until

if TYPE_CHECKING:
    from chat_service import ChatService


def kinds(online: Workspace) -> Counter[str]:
    """How many units of each kind there are."""
    with closing(sqlite3.connect(online.folder / ".prompt_evaluator/store.db", timeout=30)) as store:
        return Counter(kind for (kind,) in store.execute("SELECT kind FROM units"))


def test_half_of_the_calls_of_a_budget_are_judgements(online: Workspace, service: ChatService) -> None:
    online.cases(12)
    service.set(latency=0.05)

    stopped = online.evaluate(*REAL, "-n", "5", "--max-calls", "60")

    assert stopped.code == 3
    assert stopped.artifact["totals"]["samples"] == {"completed": 30, "pending": 30}
    assert kinds(online) == {"generation": 30, "judgement": 30}
    assert service.state()["kinds"] == {"generate": 30, "judge": 30}


def test_retries_come_out_of_the_same_budget_and_nothing_hangs(online: Workspace, service: ChatService) -> None:
    online.cases(12)
    online.configure(providers={"openai": {"limits": {"first_backoff": 0.01}}})
    service.set(latency=0.02, rules=[{"status": 500, "message": "not now", "times": 10}])

    stopped = online.evaluate(*REAL, "-n", "5", "--max-calls", "60")

    assert stopped.code == 3
    assert service.paid <= 60
    samples = stopped.artifact["totals"]["samples"]
    assert samples["completed"] >= 20
    # Each try that failed costs at most one judgement.
    assert kinds(online)["generation"] - kinds(online)["judgement"] <= 10


def test_an_interrupt_leaves_no_answer_without_its_judgement(online: Workspace, service: ChatService) -> None:
    online.cases(60)
    service.set(latency=0.3)
    started = online.start_evaluation(*REAL, "-n", "5")
    started.wait_until_under_way()
    until(lambda: service.paid > 40)

    started.process.send_signal(signal.SIGINT)
    done = started.finish()

    assert done.code == 130
    made = kinds(online)
    assert made["generation"] == made["judgement"] > 0
    assert done.artifact["totals"]["samples"]["completed"] == made["judgement"]


def test_an_interrupt_ends_a_run_that_waits_for_its_budget(online: Workspace, service: ChatService) -> None:
    online.cases(12)
    service.set(hold=True)
    started = online.start_evaluation(*REAL, "-n", "5", "--max-calls", "4")
    started.wait_until_under_way()
    until(lambda: service.paid == 2)

    started.process.send_signal(signal.SIGINT)
    done = started.finish()

    assert done.code == 130
    assert done.json["stop_reason"] == "interrupted by SIGINT"
