"""Processes that share a store keep a budget of money together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from stores import sql
from workspace import Workspace, until

if TYPE_CHECKING:
    from pathlib import Path

    from chat_service import ChatService
    from workspace import Done, Started

AT_ONCE = 4
EACH = 0.005
"""US dollars for an answer of five tokens."""
PRICES = {"one": {"input": 0.0, "output": 1_000.0}, "two": {"input": 0.0, "output": 1_000.0}}
ONE_CALL = ("--rubric", "none", "--metrics", "contains_json", "-n", "1", "-j", str(AT_ONCE))


class Team:
    """A folder with a store of either kind, and a budget."""

    def __init__(self, folder: Workspace, location: str | None) -> None:
        self.folder = folder
        self._where = {"store": location} if location else {}
        self.location: Path | str = location or folder.folder / ".prompt_evaluator/store.db"

    def allow(self, **budgets: float) -> None:
        self.folder.configure(providers={"openai": {"prices": PRICES}}, **self._where, **budgets)

    def start(self, model: str) -> Started:
        return self.folder.start_evaluation("--generator-model", f"openai/{model}", *ONE_CALL)

    def evaluate(self, model: str) -> Done:
        return self.folder.evaluate("--generator-model", f"openai/{model}", *ONE_CALL)

    def spent(self) -> dict[str, float]:
        return dict(sql(self.location, "SELECT period, spent FROM budgets"))


@pytest.fixture(params=["file", "server"])
def team(request: pytest.FixtureRequest, online: Workspace) -> Team:
    return Team(online, request.getfixturevalue("database") if request.param == "server" else None)


def test_two_processes_spend_one_budget_together_and_not_more(team: Team, service: ChatService) -> None:
    team.folder.cases(250)
    team.allow(max_cost_per_day=200 * EACH, max_cost_per_month=10.0)
    service.set(latency=0.01, hold=True)
    both = [team.start("one"), team.start("two")]
    for started in both:
        started.wait_until_under_way()
    service.set(hold=False)

    ended = [started.finish() for started in both]

    assert {done.code for done in ended} == {3}
    assert all("The budget of $1.00 per day for all runs is used up" in done.json["stop_reason"] for done in ended)
    assert 200 - 2 * AT_ONCE <= service.paid <= 200
    assert list(team.spent().values()) == pytest.approx([service.paid * EACH] * 2)

    refused = team.evaluate("one")

    assert refused.code == 3
    assert "max_cost_per_day" in refused.err
    assert service.paid <= 200
    assert len(team.folder.index()) == 2  # it was not even created

    team.allow(max_cost_per_day=600 * EACH)
    resumed = [team.folder.run("resume", done.run_id, "--json") for done in ended]

    assert {done.code for done in resumed} == {0}
    assert service.paid == 500
    assert next(iter(team.spent().values())) == pytest.approx(500 * EACH)


def test_what_a_killed_process_had_reserved_is_not_spent_by_others(team: Team, service: ChatService) -> None:
    team.folder.cases(150)
    team.allow(max_cost_per_month=100 * EACH)
    service.set(latency=0.05)
    killed = team.start("one")
    until(lambda: service.paid > 20, 60)
    killed.kill()
    service.set(latency=0.0)

    other = team.evaluate("two")

    assert other.code == 3
    assert "per month" in other.json["stop_reason"]
    assert 100 - 3 * AT_ONCE <= service.paid <= 100


def test_a_free_run_needs_no_budget(team: Team) -> None:
    team.allow(max_cost_per_day=0)

    assert team.folder.evaluate("-n", "1").code == 0


@pytest.mark.parametrize("budget", [{"max_cost_per_day": 5.0}, {"max_cost_per_month": 5.0}], ids=["day", "month"])
def test_a_model_without_a_price_is_refused_where_all_runs_have_a_budget(
    team: Team, service: ChatService, budget: dict[str, Any]
) -> None:
    team.allow(**budget)

    refused = team.evaluate("three")

    assert refused.code == 2
    assert "The price of openai/three is unknown, so the budget for all runs cannot be enforced." in refused.err
    assert service.paid == 0
