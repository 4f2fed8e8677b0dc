"""What a judge writes once for a run is written once, whatever happens to the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Done, Workspace

STEPS = "You prepare an evaluation"
"""How the judge is asked for evaluation steps."""
RULES = [
    {"kind": "judge", "match": STEPS, "text": json.dumps({"steps": ["Compare the facts.", "Weigh them."]})},
    {"kind": "judge", "text": json.dumps({"reason": "mostly right", "score": 8})},
]


@pytest.fixture
def bench(online: Workspace, service: ChatService) -> Workspace:
    """Six questions with reference answers, for a judge that is asked for steps and marks."""
    service.set(rules=RULES, keep=True)
    cases = [{"id": f"case-{at}", "input": f"Question {at}?", "reference": "Yes."} for at in range(6)]
    online.cases(cases, "benchmarks/tea.jsonl")
    return online


def run(bench: Workspace, *arguments: str) -> Done:
    return bench.run(
        *("benchmark", "run", "--json", "--dataset", "tea", "--model", "openai/test", "--metrics", "correctness"),
        *arguments,
    )


def asked_for_steps(service: ChatService) -> int:
    return sum(any(STEPS in message["content"] for message in asked["messages"]) for asked in service.kept)


def test_evaluation_steps_are_written_once_for_all_samples(bench: Workspace, service: ChatService) -> None:
    done = run(bench, "-n", "2")

    assert done.code == 0
    assert asked_for_steps(service) == 1
    assert service.paid == 1 + 2 * 12
    (found,) = done.json["runs"]
    assert found["overall_metric_stats"]["correctness"]["mean_of_means"] == pytest.approx(0.8)
    forms = [asked for asked in service.kept if "Weigh them." in json.dumps(asked)]
    assert len(forms) == 12


def test_writing_the_steps_is_part_of_what_the_run_took(bench: Workspace, service: ChatService) -> None:
    bench.configure(providers={"openai": {"prices": {"test": {"input": 1_000_000, "output": 0}}}})

    (found,) = run(bench, "--max-calls", "8").json["runs"]
    done = bench.run("resume", found["run_id"], "--json")

    assert done.json["status"] == "completed"
    totals = done.artifact["totals"]
    assert totals["input_tokens"] == 20 * service.paid
    assert totals["cost"] == pytest.approx(20 * service.paid)


def test_a_resumed_run_goes_on_with_the_steps_it_has(bench: Workspace, service: ChatService) -> None:
    stopped = run(bench, "--max-calls", "7")
    (found,) = stopped.json["runs"]
    assert stopped.code == 3
    service.set(rules=[{"kind": "judge", "match": STEPS, "text": json.dumps({"steps": ["Others."]})}, RULES[1]])

    done = bench.run("resume", found["run_id"], "--json")

    assert done.code == 0
    assert asked_for_steps(service) == 1
    assert service.paid == 1 + 12
    assert {
        sample["scores"]["correctness"]["score"]
        for case in done.artifact["test_case_results"]
        for sample in case["samples"]
    } == {0.8}


def test_a_run_stopped_between_answer_and_score_is_not_completed(bench: Workspace, service: ChatService) -> None:
    bench.cases([{"id": "only", "input": "x", "reference": "y"}], "benchmarks/tea.jsonl")

    stopped = run(bench, "--max-calls", "2")
    (found,) = stopped.json["runs"]

    assert found["status"] == "aborted"
    assert found["totals"]["samples"] == {"pending": 1}
    assert bench.run("runs", "rebuild", found["run_id"]).out == f"{found['run_id']}: aborted\n"
    done = bench.run("resume", found["run_id"], "--json")
    assert done.json["status"] == "completed"
    assert service.paid == 3


IN_STEPS = [
    {"kind": "judge", "match": "List the statements", "text": json.dumps({"statements": ["Yes."]})},
    {"kind": "judge", "text": json.dumps({"verdicts": [{"number": 1, "reason": "on it", "verdict": "yes"}]})},
]
"""What a judge replies to `answer_relevancy`: statements first, then verdicts on them."""


def relevancy(bench: Workspace, *arguments: str) -> Done:
    return bench.run(
        *("benchmark", "run", "--json", "--dataset", "tea", "--model", "openai/test", "--metrics", "answer_relevancy"),
        *arguments,
    )


def test_a_metric_that_asks_in_steps_goes_on_where_it_was_cut_off(bench: Workspace, service: ChatService) -> None:
    service.set(rules=IN_STEPS)
    for calls in range(1, 6):
        (stopped,) = relevancy(bench, "--seed", str(calls), "--max-calls", str(3 * calls), "-j", "1").json["runs"]
        assert stopped["status"] == "aborted"

        done = bench.run("resume", stopped["run_id"], "--max-calls", str(18 - 3 * calls), "--json")

        assert done.json["status"] == "completed"
        assert service.paid == 18 * calls
        assert service.state()["most"] == 1
