"""What an estimate says is what a run then takes: every call is counted by a service on loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Done, Workspace

CONTEXT = ["Green tea steeps for three minutes."]
CASES: list[dict[str, Any]] = [
    {"id": "plain", "input": "How long?"},
    {"id": "polite", "input": "How hot?", "checks": ["criteria(criteria=polite)"]},
    {"id": "also polite", "input": "How much?", "checks": ["criteria(criteria=polite)", "is_json"]},
    {"id": "given", "input": "How?", "checks": [{"metric": "criteria", "steps": ["Look."], "name": "looks"}]},
    {"id": "elsewhere", "input": "Who?", "checks": [{"metric": "criteria", "criteria": "short", "judge": "openai/b"}]},
    {"id": "known", "input": "Why?", "reference": "Because.", "context": CONTEXT},
    {"id": "last", "input": "When?", "reference": "Now."},
]


def evaluate(workspace: Workspace, *arguments: str) -> Done:
    how = ("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--generator-model", "openai/a")
    return workspace.run(*how, "--json", *arguments)


def benchmark(workspace: Workspace, *arguments: str) -> Done:
    return workspace.run("benchmark", "run", "--json", *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-n", "2"),
        ("-n", "2", "--judge-repeats", "3"),
        ("--rubric", "none", "--metrics", "length(max_words=50)", "-n", "3"),
        ("--rubric", "none", "--metrics", "correctness", "-n", "1"),
        ("--metrics", "faithfulness,answer_relevancy,criteria(criteria=short)", "-n", "1", "--max-cases", "6"),
        ("--judge-model", "openai/b", "-n", "1", "--case-ids", "polite,elsewhere"),
    ],
    ids=["rubric", "repeats", "checks alone", "a metric", "several questions", "another judge"],
)
def test_a_run_makes_the_calls_that_were_estimated_checks_of_single_cases_included(
    online: Workspace, service: ChatService, arguments: tuple[str, ...]
) -> None:
    online.cases(CASES)
    said = evaluate(online, *arguments, "--estimate").json
    assert service.paid == 0

    done = evaluate(online, *arguments)

    assert done.json["status"] == "completed", done.err
    state = service.state()
    assert (state["paid"], state["kinds"]["generate"]) == (said["calls"], said["answers"])
    assert state["kinds"].get("judge", 0) == said["judgements"]


def test_checks_of_single_cases_are_in_the_words_of_an_estimate(online: Workspace) -> None:
    online.cases(CASES)
    how = ("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--generator-model", "openai/a", "-n", "1")

    shown = online.run(*how, "--rubric", "none", "--metrics", "length(max_words=50)", "--estimate")

    assert "13: 7 answers and 6 judgements" in shown.words  # four judged, and two metrics get their steps written
    assert "judged by openai/a and openai/b" in shown.words


def test_a_second_run_is_not_estimated_to_write_existing_steps_again(online: Workspace, service: ChatService) -> None:
    online.cases(CASES)
    first = evaluate(online, "-n", "1", "--estimate").json
    evaluate(online, "-n", "1")
    before = service.paid

    again = evaluate(online, "-n", "1", "--estimate").json
    evaluate(online, "-n", "1")

    assert (before, service.paid - before) == (first["calls"], again["calls"])
    assert again["calls"] == first["calls"] - 2


def test_a_group_makes_the_calls_that_were_estimated_for_each_run_and_in_total(
    online: Workspace, service: ChatService
) -> None:
    online.cases(CASES, "benchmarks/tea.jsonl")
    online.cases(CASES[:3], "benchmarks/coffee.jsonl")
    what = ("--dataset", "tea,coffee", "--model", "openai/a,openai/c", "--judge-model", "openai/j", "-n", "2")
    metrics = ("--metrics", "criteria(criteria=short, name=short)")
    said = benchmark(online, *what, *metrics, "--estimate").json
    assert service.paid == 0

    done = benchmark(online, *what, *metrics)

    assert done.code == 0, done.err
    assert service.paid == said["calls"] == sum(member["estimate"]["calls"] for member in said["members"])
    assert service.state()["kinds"]["judge"] == said["judgements"]
    assert [(member["dataset"], member["model"]) for member in said["members"]] == [
        ("tea", "openai/a"),
        ("tea", "openai/c"),
        ("coffee", "openai/a"),
        ("coffee", "openai/c"),
    ]


def test_a_group_is_estimated_without_a_key_a_call_or_a_trace(offline: Workspace) -> None:
    offline.cases(CASES[:3], "benchmarks/tea.jsonl")
    what = ("benchmark", "run", "--dataset", "tea,basic-coding", "--model", "openai/gpt-4o,openai/gpt-4o-mini")

    shown = offline.run(*what, "--metrics", "similarity", "--estimate")

    assert shown.code == 0, shown.err
    assert "Estimate for 4 runs: 2 models on 2 datasets" in shown.words
    assert "No call was made." in shown.words
    assert "Retries and repeated judgement requests are not included." in shown.words
    assert shown.out.count("$") >= 2 * 5
    assert not (offline.folder / ".prompt_evaluator").exists()
    assert not (offline.folder / "runs").exists()


def test_an_estimate_says_what_reuse_may_save(offline: Workspace) -> None:
    shown = offline.run("benchmark", "run", "--dataset", "basic-coding", "--reuse", "--estimate")

    assert "With --reuse, calls that earlier runs already made are not repeated, so it may be less." in shown.words
