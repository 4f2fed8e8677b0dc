"""`evaluate-dataset` with several prompts ends in a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Done, Workspace

WORDS = ("--rubric", "none", "--metrics", "length(max_words=5)", "-n", "1")
MODEL = ("--generator-model", "openai/a")
LONG = {"match": "Be long", "text": "one two three four five six seven"}


@pytest.fixture(autouse=True)
def _prompts(online: Workspace, service: ChatService) -> None:
    """Ten cases, and a prompt with which every answer is too long."""
    online.cases(10)
    online.write("short.txt", "Be short.\n")
    online.write("brief.txt", "Be brief.\n")
    online.write("long.txt", "Be long.\n")
    service.set(rules=[LONG, {"text": "yes"}])


def compare(project: Workspace, *arguments: str) -> Done:
    prompts = ("-s", "short.txt", "-s", "long.txt")
    return project.run("evaluate-dataset", "-d", "data.jsonl", *prompts, *MODEL, *WORDS, *arguments)


def test_prompts_are_evaluated_as_one_group_and_compared_with_the_first(online: Workspace) -> None:
    done = compare(online)

    assert done.code == 0, done.err
    table, _, comparison = done.out.partition("── long.txt compared with short.txt · openai/a ──")
    assert "2 prompts with openai/a on data.jsonl: 2 of 2 runs completed" in table
    assert "B is worse than A on length" in comparison
    assert "-Be short." in comparison
    assert "+Be long." in comparison
    assert "Prompts A short.txt B long.txt" in " ".join(comparison.split())


def test_more_prompts_are_each_compared_with_the_baseline(online: Workspace) -> None:
    done = compare(online, "-s", "brief.txt", "--json")

    document = done.json
    runs = [run["run_id"] for run in document["runs"]]
    compared = [(each["baseline"], each["candidate"]) for each in document["comparisons"]]
    assert compared == [(runs[0], runs[1]), (runs[0], runs[2])]
    verdicts = [each["metrics"]["length"]["verdict"] for each in document["comparisons"]]
    assert verdicts[0] == "worse"
    assert verdicts[1] != "worse"
    assert [member["prompt"] for member in document["group"]["members"]] == ["short.txt", "long.txt", "brief.txt"]


def test_the_terminal_compares_more_than_two_prompts_in_one_table(online: Workspace) -> None:
    done = compare(online, "-s", "brief.txt")

    assert "── 2 prompts compared with short.txt · openai/a ──" in done.out
    assert "Prompts A short.txt B long.txt C brief.txt" in " ".join(done.out.split())
    assert "C against A" in done.out


def test_the_prompts_of_each_model_are_compared(online: Workspace) -> None:
    done = compare(online, "--generator-model", "openai/b", "--json")

    models = {run["run_id"]: run["generator_config"]["model"] for run in done.json["runs"]}
    compared = [(models[each["baseline"]], models[each["candidate"]]) for each in done.json["comparisons"]]
    assert compared == [("openai/a", "openai/a"), ("openai/b", "openai/b")]


def test_a_run_that_did_not_complete_is_named_and_not_compared(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"match": "Be long", "status": 400, "message": "too long"}, {"text": "yes"}])

    done = compare(online, "-s", "brief.txt", "--json")

    assert done.code == 3
    runs = done.json["runs"]
    assert [each["candidate"] for each in done.json["comparisons"]] == [runs[2]["run_id"]]
    assert "Not compared for openai/a, because the run is incomplete: long.txt." in done.err


def test_without_a_complete_baseline_nothing_is_compared(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"match": "Be short", "status": 401, "message": "wrong key"}, {"text": "yes"}])

    done = compare(online)

    assert done.code == 3
    assert "compared with" not in done.out
    assert "Nothing is compared for openai/a: its run with short.txt, the baseline, is incomplete." in done.err
