"""`prompt-evaluator runs show`: some cases of a run, or one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from workspace import REAL, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from chat_service import ChatService

BOT = """
count = 0

def answer(question):
    global count
    count += 1
    if "broken" in question:
        raise RuntimeError("no power\\x1b[31m")
    if "sometimes" in question:
        return "yes" if count % 2 else "no\\x1b]0;title\\x07"
    return "no, " * 80 if "bad" in question else "yes\\n\\tindented\\nlast line"
"""
CASES = [
    {"id": "good", "input": "good?", "reference": "yes", "topic": "tea", "expected_constraints": "one word"},
    {"id": "bad", "input": "bad?"},
    {"id": "sometimes", "input": "sometimes?"},
    {"id": "broken", "input": "broken?"},
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder: Path = tmp_path_factory.mktemp("show")
    found = Workspace(folder)
    found.write("bot.py", BOT)
    found.cases(CASES)
    return found


@pytest.fixture(scope="module")
def run(project: Workspace) -> str:
    """A run in which one case is good, one fails, one is flaky, and one has errors."""
    target = ("--generator-model", "python:bot:answer", "--rubric", "none", "-j", "1")
    return project.evaluate(*target, "--metrics", "regex(pattern=yes),length(max_words=5)", "-n", "4").run_id


def cases(project: Workspace, run: str, *arguments: str) -> list[str]:
    found: list[dict[str, Any]] = project.run("runs", "show", run, "--json", *arguments).json["test_case_results"]
    return [case["test_case_id"] for case in found]


@each(
    ("arguments", "ids"),
    [
        (["--failing"], ["bad"]),
        (["--flaky"], ["sometimes"]),
        (["--errors"], ["broken"]),
        (["--flagged"], []),
        (["--worst", "2"], ["bad", "sometimes"]),
        (["--worst", "9"], ["bad", "sometimes", "good"]),
        (["--worst", "1", "--metric", "length"], ["bad"]),
        (["--failing", "--flaky"], []),
        (["--worst", "1", "--flaky"], ["sometimes"]),
    ],
)
def test_cases_are_chosen_by_how_they_fared(project: Workspace, run: str, arguments: list[str], ids: list[str]) -> None:
    assert cases(project, run, *arguments) == ids


def test_a_list_has_the_numbers_of_each_case_as_the_guide_writes_them(project: Workspace, run: str) -> None:
    done = project.run("runs", "show", run[:8], "--flaky")

    assert done.code == 0
    head, empty, title, *lines = done.out.splitlines()
    assert (head, empty) == ("Flaky: 1 of 4 cases", "")
    assert title.startswith("Case: sometimes  completed · ")
    assert "  regex: mean=0.500, std=0.577, min=0.00, max=1.00  ⚠️ HIGH VARIABILITY" in lines
    assert lines[-1] == f"Details   prompt-evaluator runs show {run[:8]} --case sometimes"


def test_every_command_that_takes_a_run_takes_the_last_one(project: Workspace, run: str) -> None:
    assert cases(project, "@last", "--worst", "1") == ["bad"]
    for command in (["runs", "show"], ["runs", "watch"], ["runs", "rebuild"], ["resume"]):
        done = project.run(*command, "@last")
        assert (done.code, run in done.out) == (0, True), command
    assert project.run("runs", "export", "@last").out == project.run("runs", "export", run).out
    assert project.run("labels", "export", "@last").code == 0


def test_errors_are_named(project: Workspace, run: str) -> None:
    done = project.run("runs", "show", run, "--errors")

    assert "With errors: 1 of 4 cases" in done.out
    assert "Case: broken  failed" in done.out
    assert "errors: target failed: " in done.out


def test_answers_are_cut_in_a_list_and_whole_for_one_case(project: Workspace, run: str) -> None:
    whole = "no, " * 79 + "no,"

    listed = project.run("runs", "show", run, "--failing", "--samples").out
    shown = project.run("runs", "show", run, "--case", "bad").out

    assert max(map(len, listed.splitlines()[:-1])) < 80
    assert "#4  regex 0.00" in listed
    assert whole not in listed
    assert shown.count(whole) == 4


def test_a_list_says_how_many_more_there_are_and_how_to_see_them(project: Workspace, run: str) -> None:
    project.cases(30, "many.jsonl")
    target = ("-d", "many.jsonl", "--generator-model", "python:bot:answer", "--rubric", "none", "-n", "1")
    done = project.run("evaluate-dataset", "-s", "prompt.txt", "--json", *target, "--metrics", "regex(pattern=never)")

    first = project.run("runs", "show", done.run_id, "--failing")
    page = project.run("runs", "show", done.run_id, "--failing", "--limit", "25", "--json").json
    rest = project.run("runs", "show", done.run_id, "--failing", "--json", "--cursor", page["next"]).json

    assert run != done.run_id
    assert "Failing: 30 of 30 cases, sorted by regex, worst first" in first.out
    assert "\n10 more: use --limit 30\n" in first.out
    assert [page["matching_cases"], len(page["test_case_results"]), len(rest["test_case_results"])] == [30, 25, 5]


def test_the_worst_cases_end_with_the_last_that_has_a_score(project: Workspace, run: str) -> None:
    first = project.run("runs", "show", run, "--worst", "2", "--json").json
    rest = project.run("runs", "show", run, "--worst", "2", "--json", "--cursor", first["next"]).json

    assert (first["matching_cases"], rest["matching_cases"]) == (3, 3)
    assert [case["test_case_id"] for case in rest["test_case_results"]] == ["good"]
    assert rest["next"] is None


def test_a_metric_that_is_called_like_a_column_sorts_by_its_scores(project: Workspace, run: str) -> None:
    project.write("cost.yaml", "metrics: [{metric: regex, name: cost, pattern: 'yes'}]\n")
    target = ("--generator-model", "python:bot:answer", "--rubric", "none", "--case-ids", "good,bad")
    done = project.evaluate(*target, "--metrics-file", "cost.yaml", "-n", "1")

    found = project.run("runs", "show", done.run_id, "--worst", "2", "--json").json

    assert run != done.run_id
    assert found["sorted_by_metric"] == "cost"
    assert [case["test_case_id"] for case in found["test_case_results"]] == ["bad", "good"]


def test_one_case_is_shown_with_everything_that_is_known(project: Workspace, run: str) -> None:
    out = project.run("runs", "show", run, "--case", "good").out

    assert out.startswith("Case: good  completed")
    for line in (
        "  input: good?",
        "  expected: one word",
        "  reference: yes",
        "  metadata topic: tea",
        "  regex: mean=1.000, std=0.000, min=1.00, max=1.00",
        "    ✓ Low std (0.000) - consistent outputs across samples",
        "        indented",
        "    last line",
    ):
        assert line in out.splitlines()
    assert [line.split("  ")[0] for line in out.splitlines() if line.startswith("Sample ")] == [
        f"Sample {number}" for number in range(1, 5)
    ]


def test_no_control_character_of_an_answer_or_an_error_reaches_the_terminal(project: Workspace, run: str) -> None:
    for case_id in ("broken", "sometimes"):
        out = project.run("runs", "show", run, "--case", case_id).out

        assert "\x1b" not in out
        assert "\x07" not in out
    assert "no power" in project.run("runs", "show", run, "--case", "broken").out


def test_a_case_for_programs_has_the_words_of_its_artifact(project: Workspace, run: str) -> None:
    found = project.run("runs", "show", run, "--case", "good", "--json").json
    (artifact,) = [case for case in project.artifact(run)["test_case_results"] if case["test_case_id"] == "good"]

    shared = found.keys() & artifact.keys() - {"samples", "per_metric_stats", "messages"}
    assert {name: found[name] for name in shared} == {name: artifact[name] for name in shared}
    assert found.keys() >= {"test_case_input", "test_case_reference", "per_flag_stats", "missing_scores", "samples"}
    for name, stats in found["per_metric_stats"].items():
        assert stats == {key: artifact["per_metric_stats"][name][key] for key in stats}
    for sample, kept in zip(found["samples"], artifact["samples"], strict=True):
        shared = sample.keys() & kept.keys() - {"scores"}
        assert {name: sample[name] for name in shared} == {name: kept[name] for name in shared}
        assert sample["scores"]["regex"] | {"judge": None} == kept["scores"]["regex"] | {"judge": None}


@each(
    ("arguments", "sentence"),
    [
        (["--case", "good", "--flaky"], "--case shows one case and cannot be combined with --flaky."),
        (["--worst", "3", "--limit", "5"], "--worst N already says how many cases to show; remove --limit."),
        (["--samples"], "--samples needs a selection of cases."),
        (["--limit", "5"], "--limit needs a selection of cases."),
        (["--case", "sometime"], "There is no test case 'sometime'. Did you mean 'sometimes'?"),
        (["--worst", "1", "--metric", "lenght"], "There is no metric 'lenght'. Did you mean 'length'?"),
        (["--worst", "9" * 20], f"from 1 to 1,000,000, not '{'9' * 20}'."),
    ],
)
def test_what_contradicts_itself_or_is_not_there_is_refused(
    project: Workspace, run: str, arguments: list[str], sentence: str
) -> None:
    done = project.run("runs", "show", run, *arguments)

    assert done.code == 2
    assert sentence in done.err


def test_nothing_found_is_said(project: Workspace, run: str) -> None:
    assert project.run("runs", "show", run, "--flagged").out == "Flagged: none of 4 cases.\n"
    assert project.run("runs", "show", run, "--failing", "--errors").out == (
        "Failing and with errors: none of 4 cases.\n"
    )


def test_an_error_names_its_metric_once(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "judge", "text": "garbage"}])
    run_id = online.evaluate(*REAL, "-n", "1").run_id

    out = online.run("runs", "show", run_id, "--case", "case-000").out

    assert "  error: rubric default: unreadable reply: The judge's reply cannot be used" in out
