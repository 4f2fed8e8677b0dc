"""`evaluate-dataset` with several prompts and models, as somebody types it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import each

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Done, Workspace

LENGTH = ("--rubric", "none", "--metrics", "length(max_words=50)", "-n", "1")


@pytest.fixture(autouse=True)
def _two_prompts(request: pytest.FixtureRequest) -> None:
    name = "online" if "online" in request.fixturenames else "offline"
    project: Workspace = request.getfixturevalue(name)
    project.write("kind.txt", "Be kind.\n")
    project.write("brief.txt", "Be brief.\n")


def matrix(project: Workspace, *arguments: str) -> Done:
    return project.run("evaluate-dataset", "-d", "data.jsonl", "-s", "kind.txt", "-s", "brief.txt", *LENGTH, *arguments)


def pairs(done: Done) -> list[tuple[str, str]]:
    return [(each["prompt"], each["model"]) for each in done.json["group"]["members"]]


def test_every_model_answers_with_every_prompt_in_one_group(online: Workspace, service: ChatService) -> None:
    done = matrix(online, "--generator-model", "openai/a,openai/b", "--json")

    assert done.code == 0, done.err
    assert pairs(done) == [(prompt, f"openai/{model}") for prompt in ("kind.txt", "brief.txt") for model in "ab"]
    assert done.json["group"]["prompts"] == ["kind.txt", "brief.txt"]
    assert done.json["group"]["datasets"] == ["data.jsonl"]
    runs = done.json["runs"]
    assert [run["system_prompt"] for run in runs] == ["Be kind.\n"] * 2 + ["Be brief.\n"] * 2
    assert {run["group_id"] for run in runs} == {done.json["group"]["group_id"]}
    assert service.paid == 4 * 3


def test_the_group_ends_in_one_table_of_prompts_and_models(offline: Workspace) -> None:
    done = matrix(offline, "--generator-model", "mock/a,mock/b")

    *_, table = done.out.partition("── all 4 runs ──")
    assert "2 prompts with 2 models on data.jsonl: 4 of 4 runs completed; $0, " in table
    lines = table.splitlines()
    assert [line for line in lines if line.startswith(("kind", "brief", "  mock"))][0::3] == ["kind.txt", "brief.txt"]
    titles = [line.strip("─ ") for line in done.out.splitlines() if line.startswith("──")]
    assert titles[0] == "kind.txt · mock/a"


def test_a_path_of_a_prompt_is_not_split_at_commas(offline: Workspace) -> None:
    offline.write("kind, brief.txt", "Be both.\n")

    done = matrix(offline, "-s", "kind, brief.txt", "--json")

    assert [prompt for prompt, _ in pairs(done)] == ["kind.txt", "brief.txt", "kind, brief.txt"]


def test_a_configured_name_is_a_prompt_like_any_other(offline: Workspace) -> None:
    offline.write("deep/down.txt", "Be deep.\n")
    offline.configure(prompt_templates={"deep": "deep/down.txt"})

    done = matrix(offline, "-s", "deep", "--json")

    assert pairs(done)[-1] == ("down.txt", "mock/default")
    assert done.json["runs"][-1]["system_prompt"] == "Be deep.\n"


# What is wrong is said before anything is paid


@each(
    ("arguments", "sentence"),
    [
        (("-s", "missing.txt"), "missing.txt"),
        (("--generator-model", "openai/a,openia/b"), "Did you mean 'openai'?"),
        (("--generator-model", "openai/a,anthropic/x"), "ANTHROPIC_API_KEY"),
        (
            ("--generator-model", "openai/a,openai:a"),
            "openai/a and openai:a are the same model, openai/a. Name it once.",
        ),
        (("--generator-model", ","), "name at least one"),
        (("--prompt-version", "v2"), "--prompt-version names one prompt, but 2 are given"),
        (("--resume", "2d65"), "--resume continues one run, so it cannot be combined with several prompts or models."),
        (("--max-cost", "1", "--generator-model", "openai/a,openai/b"), "The price of openai/a is unknown"),
    ],
)
def test_an_error_in_any_of_the_runs_is_reported_before_the_first_call(
    online: Workspace, service: ChatService, arguments: tuple[str, ...], sentence: str
) -> None:
    done = matrix(online, *arguments)

    assert done.code == 2
    assert sentence in " ".join(done.err.split())
    assert service.paid == 0
    assert online.run("runs", "list", "--json").json["runs"] == []


def test_what_is_given_twice_is_evaluated_once_with_a_warning(offline: Workspace) -> None:
    done = matrix(offline, "-s", "./kind.txt", "--generator-model", "mock/a,mock/a", "--json")

    assert pairs(done) == [("kind.txt", "mock/a"), ("brief.txt", "mock/a")]
    assert "Warning: ./kind.txt is given twice and evaluated once." in done.err
    assert "Warning: mock/a is given twice and evaluated once." in done.err


def test_prompts_of_the_same_content_are_pointed_out(offline: Workspace) -> None:
    offline.write("copy.txt", "Be kind.\n")

    done = matrix(offline, "-s", "copy.txt", "--json")

    assert "Warning: kind.txt and copy.txt have the same content: their runs differ by chance alone." in done.err
    assert len(pairs(done)) == 3


def test_an_empty_prompt_is_pointed_out(offline: Workspace) -> None:
    offline.write("empty.txt", "\n")

    several = matrix(offline, "-s", "empty.txt", "--estimate")
    alone = offline.run("evaluate-dataset", "-d", "data.jsonl", "-s", "empty.txt", "--estimate")

    assert "Warning: empty.txt is empty: it tells the model nothing." in several.err
    assert "Warning: empty.txt is empty: it tells the model nothing." in alone.err


# Afterwards


def test_each_run_of_a_group_is_resumed_alone(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"match": "Question 001", "status": 400, "message": "not now"}])
    done = matrix(online, "--generator-model", "openai/a,openai/b", "--json")
    service.set(rules=[])

    resumed = [online.run("resume", run["run_id"], "--retry-errors", "--json") for run in done.json["runs"]]

    assert [each.code for each in resumed] == [0] * 4, resumed[0].err
    assert [each.json["status"] for each in resumed] == ["completed"] * 4


def test_only_the_changed_prompt_is_paid_for_again_with_reuse(online: Workspace, service: ChatService) -> None:
    matrix(online, "--generator-model", "openai/a", "--json")
    before = service.paid
    online.write("brief.txt", "Be very brief.\n")

    done = matrix(online, "--generator-model", "openai/a", "--reuse", "--json")

    assert done.code == 0, done.err
    assert service.paid - before == before // 2
