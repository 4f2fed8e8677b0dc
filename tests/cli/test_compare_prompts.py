"""`compare-prompts` and `--ab-test-system-prompt`, as somebody types them."""

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


def compare(project: Workspace, *arguments: str, a: str = "short.txt", b: str = "long.txt") -> Done:
    return project.run(
        *("compare-prompts", "-d", "data.jsonl", "--prompt-a", a, "--prompt-b", b, *MODEL, *WORDS, *arguments)
    )


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
    done = compare(online, "--prompt", "brief.txt", "--json")

    document = done.json
    runs = [run["run_id"] for run in document["runs"]]
    compared = [(each["baseline"], each["candidate"]) for each in document["comparisons"]]
    assert compared == [(runs[0], runs[1]), (runs[0], runs[2])]
    verdicts = [each["metrics"]["length"]["verdict"] for each in document["comparisons"]]
    assert verdicts[0] == "worse"
    assert verdicts[1] != "worse"
    assert [member["prompt"] for member in document["group"]["members"]] == ["short.txt", "long.txt", "brief.txt"]


def test_the_terminal_compares_more_than_two_prompts_in_one_table(online: Workspace) -> None:
    done = compare(online, "--prompt", "brief.txt")

    assert "── 2 prompts compared with short.txt · openai/a ──" in done.out
    assert "Prompts A short.txt B long.txt C brief.txt" in " ".join(done.out.split())
    assert "C against A" in done.out


def test_the_comparison_is_the_one_that_compare_makes_of_the_runs(online: Workspace) -> None:
    document = compare(online, "--json").json

    again = online.run("compare", *(run["run_id"] for run in document["runs"]), "--json").json

    assert document["comparisons"] == [again]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((), 0), (("--fail-on-regression",), 1)],
    ids=["without the flag", "with the flag"],
)
def test_a_regression_decides_the_exit_code_only_if_wanted(
    online: Workspace, arguments: tuple[str, ...], code: int
) -> None:
    assert compare(online, *arguments).code == code
    assert compare(online, *arguments, "--json").code == code


def test_an_improvement_is_no_regression(online: Workspace) -> None:
    assert compare(online, "--fail-on-regression", a="long.txt", b="short.txt").code == 0


def test_a_difference_within_the_threshold_does_not_matter(online: Workspace) -> None:
    done = compare(online, "--metric-threshold", "4", "--fail-on-regression", "--json")

    assert done.code == 0, done.err
    assert done.json["comparisons"][0]["metrics"]["length"]["threshold"] == 1
    assert done.json["comparisons"][0]["metrics"]["length"]["verdict"] != "worse"


def test_the_prompts_of_each_model_are_compared(online: Workspace) -> None:
    done = compare(online, "--generator-model", "openai/b", "--json")

    models = {run["run_id"]: run["generator_config"]["model"] for run in done.json["runs"]}
    compared = [(models[each["baseline"]], models[each["candidate"]]) for each in done.json["comparisons"]]
    assert compared == [("openai/a", "openai/a"), ("openai/b", "openai/b")]


def test_the_same_prompt_twice_is_refused_before_any_call(online: Workspace, service: ChatService) -> None:
    done = compare(online, b="./short.txt")

    assert done.code == 2
    assert "All prompts are the same file, so there is nothing to compare." in " ".join(done.err.split())
    assert service.paid == 0


def test_a_run_that_did_not_complete_is_named_and_not_compared(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"match": "Be long", "status": 400, "message": "too long"}, {"text": "yes"}])

    done = compare(online, "--prompt", "brief.txt", "--json")

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


def test_only_the_changed_prompt_is_paid_for_again_with_reuse(online: Workspace, service: ChatService) -> None:
    compare(online)
    before = service.paid
    online.write("long.txt", "Be long, please.\n")

    done = compare(online, "--reuse", "--json")

    assert done.code == 0, done.err
    assert service.paid - before == before // 2
    assert done.json["comparisons"][0]["metrics"]["length"]["verdict"] == "worse"


def test_the_estimate_makes_no_call(online: Workspace, service: ChatService) -> None:
    done = compare(online, "--estimate", "--json")

    assert (done.code, service.paid) == (0, 0)
    assert done.json["calls"] == 20


def test_the_next_command_of_a_run_makes_that_run_alone(online: Workspace) -> None:
    done = compare(online, "--metric-threshold", "0.2", "--fail-on-regression")

    *_, first = done.out.partition("── short.txt · openai/a ──")
    command = first.partition("Next ")[2].partition("──")[0].replace("\\\n", " ")
    assert "evaluate-dataset --system-prompt short.txt --dataset data.jsonl" in " ".join(command.split())
    assert not any(word in command for word in ("--prompt-a", "--prompt-b", "--metric-threshold", "--fail-on"))


# With and without


def ab_test(project: Workspace, *arguments: str) -> Done:
    flags = ("-d", "data.jsonl", "-s", "long.txt", "--ab-test-system-prompt")
    return project.run("evaluate-dataset", *flags, *MODEL, *WORDS, *arguments)


def test_a_prompt_is_compared_with_no_prompt_at_all(online: Workspace, service: ChatService) -> None:
    service.set(keep=True)

    done = ab_test(online, "--json")

    assert done.code == 0, done.err
    without, with_it = done.json["runs"]
    assert (without["system_prompt"], without["prompt_hash"]) == (None, None)
    assert with_it["system_prompt"] == "Be long.\n"
    (comparison,) = done.json["comparisons"]
    assert (comparison["baseline"], comparison["candidate"]) == (without["run_id"], with_it["run_id"])
    assert comparison["metrics"]["length"]["verdict"] == "worse"
    roles = [tuple(message["role"] for message in asked["messages"]) for asked in service.kept]
    assert sorted(roles) == [("system", "user")] * 10 + [("user",)] * 10


def test_the_terminal_says_which_run_has_no_prompt(online: Workspace) -> None:
    done = ab_test(online)

    assert "── long.txt compared with no system prompt · openai/a ──" in done.out
    assert "── no system prompt · openai/a ──" in done.out


def test_the_version_of_the_prompt_belongs_to_the_run_with_it(online: Workspace) -> None:
    without, with_it = ab_test(online, "--prompt-version", "v2", "--json").json["runs"]

    assert (without["prompt_version_id"], with_it["prompt_version_id"]) == (None, "v2")


def test_runs_with_and_without_a_prompt_are_each_resumed(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"match": "Question 001", "status": 400, "message": "not now"}, {"text": "yes"}])
    runs = ab_test(online, "--json").json["runs"]
    service.set(rules=[{"text": "yes"}])

    resumed = [online.run("resume", run["run_id"], "--retry-errors", "--json") for run in runs]

    assert [each.json["status"] for each in resumed] == ["completed"] * 2
