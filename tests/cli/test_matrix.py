"""`evaluate-dataset` with several prompts and models, as somebody types it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

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


@pytest.mark.parametrize(
    "models",
    [("--generator-model", "openai/a,openai/b"), ("--generator-model", "openai/a", "--generator-model", "openai/b")],
    ids=["commas", "repeated"],
)
def test_every_model_answers_with_every_prompt_in_one_group(
    online: Workspace, service: ChatService, models: tuple[str, ...]
) -> None:
    done = matrix(online, *models, "--json")

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


def test_one_model_with_several_prompts_has_a_row_for_each_prompt(offline: Workspace) -> None:
    *_, table = matrix(offline).out.partition("── both runs ──")
    table = table.partition("\n── brief.txt compared")[0]

    assert "2 prompts with mock/default on data.jsonl" in table
    assert [line.split()[0] for line in table.splitlines() if ".txt" in line] == ["kind.txt", "brief.txt"]


def test_several_models_with_one_prompt_have_a_row_for_each_model(offline: Workspace) -> None:
    done = offline.run(
        *("evaluate-dataset", "-d", "data.jsonl", "-s", "kind.txt", "--generator-model", "mock/a,mock/b", *LENGTH)
    )

    *_, table = done.out.partition("── both runs ──")
    assert "kind.txt with 2 models on data.jsonl" in table
    assert [line.split()[0] for line in table.splitlines() if line.startswith("mock/")] == ["mock/a", "mock/b"]


def test_one_prompt_and_one_model_are_a_run_as_before(offline: Workspace) -> None:
    done = offline.evaluate(*LENGTH, "--generator-model", "mock/a")

    assert done.json["run_id"] == done.json["group_id"]
    assert done.json["generator_config"]["model"] == "mock/a"


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


@pytest.mark.parametrize("width", [40, 80])
def test_prompts_of_the_same_name_are_told_apart_at_every_width(offline: Workspace, width: int) -> None:
    folder = "a-folder-with-quite-a-long-name-for-the-{}-version-of-the-prompts-of-spring"
    for which in ("first", "second"):
        offline.write(f"{folder.format(which)}/system-prompt.txt", f"{which}\n")
    offline.environment["COLUMNS"] = str(width)
    chosen = [part for which in ("first", "second") for part in ("-s", f"{folder.format(which)}/system-prompt.txt")]

    done = offline.run("evaluate-dataset", "-d", "data.jsonl", "-s", "kind.txt", *chosen, *LENGTH)

    *_, table = done.out.partition("── all 3 runs ──")
    table = table.partition("\n── 2 prompts")[0]
    names = {line[: line.index("  ")] for line in table.splitlines() if line.startswith(("a-folder", "…"))}
    assert len(names) == 2, table
    assert all(len(line) < width for line in table.splitlines())


# What is wrong is said before anything is paid


@pytest.mark.parametrize(
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
    ids=["prompt", "second model", "second key", "same model", "no model", "version", "resume", "price"],
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


# Money, interrupts and failures


def test_a_budget_holds_over_the_whole_group(online: Workspace, service: ChatService) -> None:
    done = matrix(online, "--generator-model", "openai/a", "--max-calls", "4", "-j", "1", "--json")

    assert done.code == 3
    assert service.paid == 4
    assert [each["status"] for each in done.json["group"]["members"]] == ["completed", "aborted"]


def test_the_estimate_of_a_group_is_what_it_makes(online: Workspace, service: ChatService) -> None:
    models = ("--generator-model", "openai/a,openai/b")

    said = matrix(online, *models, "--estimate", "--json").json
    shown = matrix(online, *models, "--estimate").out
    assert service.paid == 0
    matrix(online, *models, "--json")

    assert said["calls"] == service.paid
    assert (said["members"][0]["prompt"], said["members"][0]["model"]) == ("kind.txt", "openai/a")
    assert "Estimate for 4 runs: 2 prompts with 2 models on data.jsonl. No call was made." in shown


def test_an_interrupt_ends_the_group_and_names_what_was_not_begun(online: Workspace, service: ChatService) -> None:
    service.set(latency=0.05)
    online.cases(400)
    started = online.start(
        *("evaluate-dataset", "-d", "data.jsonl", "-s", "kind.txt", "-s", "brief.txt", *LENGTH, "--json"),
        *("--generator-model", "openai/a", "-j", "1"),
    )
    started.wait_until_under_way()

    started.process.send_signal(signal.SIGINT)
    done = started.finish()

    assert done.code == 130
    assert [member["status"] for member in done.json["group"]["members"]] == ["aborted", "not_begun"]
    assert "Not started, because an earlier run stopped the group: brief.txt with openai/a." in done.err
    assert [run["status"] for run in online.run("runs", "list", "--json").json["runs"]] == ["aborted"]


def test_a_run_that_fails_loses_nobody_elses_results(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"model": "unknown", "status": 404, "message": "no such model"}, {"text": "yes"}])

    done = matrix(online, "--generator-model", "openai/unknown,openai/good")

    assert done.code == 3
    *_, table = done.out.partition("── all 4 runs ──")
    assert "2 of 4 runs completed" in table
    assert table.count("✗ openai/unknown failed with ") == 2
    assert "✗ openai/unknown failed with brief.txt: openai: stopped, because no call can" in table


def test_of_several_runs_the_worst_decides_the_exit_code(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"match": "Be brief", "text": "w " * 60}, {"text": "yes"}])

    done = matrix(online, "--generator-model", "openai/a", "--fail-under", "length=1", "--json")

    assert done.code == 1
    assert [bool(run["missed_bars"]) for run in done.json["runs"]] == [False, True]


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
