"""Nobody pays for more than was allowed, and nothing that was paid for is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from workspace import REAL, Workspace

if TYPE_CHECKING:
    from chat_service import ChatService

PRICES = {"test": {"input": 0.0, "output": 1_000.0}}
"""A tenth of a cent for each token of an answer."""


def priced(workspace: Workspace, **settings: Any) -> None:
    workspace.configure(providers={"openai": {"prices": PRICES}}, **settings)


def test_a_run_of_1000_calls_stops_at_100_and_ends_with_a_larger_budget_without_paying_twice(
    online: Workspace, service: ChatService
) -> None:
    online.cases(250)

    stopped = online.evaluate(*REAL, "-n", "2", "--seed", "1", "--max-calls", "100")

    assert stopped.code == 3
    assert stopped.json["status"] == "aborted"
    assert stopped.json["stop_reason"] == "The budget of 100 calls is used up."
    assert "resume" in stopped.err
    assert service.paid == 100
    assert len(online.units(stopped.run_id)) == 100  # every call that was paid for is a unit that was kept

    again = online.run("resume", stopped.run_id, "--max-calls", "300", "--json")

    assert again.code == 3
    assert service.paid == 400

    ended = online.run("resume", stopped.run_id, "--max-calls", "1000", "--json")

    assert ended.code == 0
    assert ended.artifact["status"] == "completed"
    assert ended.artifact["stop_reason"] is None
    assert service.state()["paid"] == 1000
    assert service.state()["most"] == 1


def test_a_budget_of_money_is_used_up_and_exceeded_by_no_more_than_a_call_of_each_kind(
    online: Workspace, service: ChatService
) -> None:
    service.set(latency=0.02)
    priced(online)
    online.cases(100)

    stopped = online.evaluate(*REAL, "-n", "2", "--seed", "1", "--max-cost", "1")

    assert stopped.code == 3
    assert 0.85 < stopped.artifact["totals"]["cost"] < 1.15

    ended = online.run("resume", stopped.run_id, "--max-cost", "1000", "--json")

    assert ended.code == 0
    assert service.state()["paid"] == 400
    assert service.state()["most"] == 1


def test_an_unknown_price_with_a_budget_of_money_is_refused_before_any_call(
    online: Workspace, service: ChatService
) -> None:
    refused = online.evaluate(*REAL, "--max-cost", "1")

    assert refused.code == 2
    assert "The price of openai/test is unknown" in refused.err
    assert all(way in refused.err for way in ("--assume-price", "--max-calls", "`prices:`"))
    assert service.paid == 0
    assert not (online.folder / "runs").exists()


def test_an_unknown_price_is_accepted_where_the_calls_are_limited_too(online: Workspace, service: ChatService) -> None:
    done = online.evaluate(*REAL, "-n", "1", "--max-cost", "1", "--max-calls", "4")

    assert done.code == 3
    assert done.json["stop_reason"] == "The budget of 4 calls is used up."
    assert service.paid == 4


def test_an_assumed_price_is_that_of_models_without_one_in_estimates_budgets_and_artifacts(
    online: Workspace, service: ChatService
) -> None:
    wanted = (*REAL, "-n", "1", "--assume-price", "0/1000", "--rubric", "none", "--metrics", "length(max_words=99)")

    estimated = online.run("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--estimate", *wanted)
    done = online.evaluate(*wanted, "--max-cost", "1")

    assert "Cost      $0.15 to $2.40" in estimated.out
    assert done.code == 0
    assert done.artifact["totals"]["cost"] == pytest.approx(done.artifact["totals"]["output_tokens"] / 1_000)
    assert done.artifact["prices"]["assumed"]["output"] == 1_000
    assert service.paid == 3


def test_the_price_of_a_judge_has_to_be_known_as_well(online: Workspace, service: ChatService) -> None:
    priced(online)

    refused = online.evaluate(*REAL, "--judge-model", "openai/other", "--max-cost", "1")

    assert refused.code == 2
    assert "openai/other" in refused.err
    assert service.paid == 0


def test_a_group_of_runs_has_one_budget(online: Workspace, service: ChatService) -> None:
    online.cases(3, "benchmarks/tea.jsonl")
    online.cases(3, "benchmarks/coffee.jsonl")

    stopped = online.run(
        *("benchmark", "run", "--json", "--dataset", "coffee,tea", "--model", "openai/test,openai/other"),
        *("--metrics", "latency(max_ms=60000)", "--max-calls", "5"),
    )

    assert stopped.code == 3
    assert [run["status"] for run in stopped.json["runs"]] == ["completed", "aborted"]
    assert service.paid == 5


def test_the_mock_is_free_whatever_the_budget(offline: Workspace) -> None:
    done = offline.evaluate("-n", "1", "--max-cost", "0")

    assert done.code == 0
    assert done.artifact["totals"]["cost"] == 0
