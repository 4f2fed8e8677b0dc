"""`prompt-evaluator compare`, as an installed command on stored runs and on files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from artifact_files import artifact, scored_case
from entries import each
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from workspace import Done

BOT = """
def before(question):
    return f"yes, because {question} was asked"

def after(question):
    return "no\\x1b[31m" if "billing" in question else before(question)

def shorter(question):
    return "yes"
"""
CASES = [
    {"id": f"{topic}-{at}", "input": f"Question {at} on {topic}?", "metadata": {"topic": topic}}
    for topic in ("billing", "orders")
    for at in range(10)
]
METRICS = ("--rubric", "none", "--metrics", "regex(pattern=yes)", "-n", "5")


class Runs:
    """A project with a baseline, a run that is worse, and a run that is as good."""

    def __init__(self, project: Workspace) -> None:
        self.project = project
        self.before, self.after, self.shorter = (
            project.evaluate("--generator-model", f"python:bot:{name}", *METRICS, "--tag", f"bot={name}").run_id
            for name in ("before", "after", "shorter")
        )

    def compare(self, *arguments: str, **environment: str) -> Done:
        return Workspace(self.project.folder, environment).run("compare", *arguments)

    def file(self, run_id: str) -> str:
        return f"runs/{run_id}/dataset_evaluation.json"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    project = Workspace(tmp_path_factory.mktemp("compare"))
    project.write("bot.py", BOT)
    project.cases(CASES)
    return Runs(project)


def test_it_says_first_what_got_worse(runs: Runs) -> None:
    done = runs.compare(runs.before, runs.after)

    assert (done.code, done.err) == (0, "")
    assert done.words.startswith("✗ B is worse than A on regex (\N{MINUS SIGN}0.500 on 0\N{EN DASH}1, p ")
    assert f"A {runs.before[:8]} python:bot:before" in done.words
    assert "model python:bot:before → python:bot:after" in done.words
    assert "regex worse 10 · better 0 · same 10 · too few 0" in done.words
    assert "✗ topic = billing: regex" in done.words
    assert f"Next prompt-evaluator compare {runs.before} {runs.after} --show" in done.words


def test_runs_can_be_named_by_position_tag_beginning_and_file(runs: Runs) -> None:
    wanted = runs.compare(runs.before, runs.after, "--json").json["metrics"]

    for names in (
        ("@last~2", "@last~1"),
        ("tag:bot=before", "bot=after"),
        (runs.before[:8], runs.after[:8]),
        (runs.file(runs.before), runs.after),
    ):
        assert runs.compare(*names, "--json").json["metrics"] == wanted


def test_json_is_one_object_with_every_common_case(runs: Runs) -> None:
    done = runs.compare(runs.before, runs.after, "--json")
    found = done.json

    assert (done.code, done.err) == (0, "")
    assert {"baseline", "candidate", "common_cases", "metrics", "flags", "cases", "slices", "differs"} <= set(found)
    assert found["common_cases"] == len(found["cases"]) == 20
    assert found["metrics"]["regex"]["verdict"] == "worse"
    assert [case["class"] for case in found["cases"]] == ["worse"] * 10 + ["same"] * 10
    assert {key: found["cases"][0][key] for key in ("metric", "baseline", "candidate")} == {
        "metric": "regex",
        "baseline": 1.0,
        "candidate": 0.0,
    }


def test_json_of_more_than_two_runs_has_a_list(runs: Runs) -> None:
    (first, second) = runs.compare(runs.before, runs.after, runs.shorter, "--json").json["comparisons"]

    assert first == runs.compare(runs.before, runs.after, "--json").json
    assert (
        second["metrics"]["regex"]["verdict"] == "inconclusive"
    )  # 20 cases without any difference do not rule one out


def test_a_regression_fails_only_if_asked_to(runs: Runs) -> None:
    pairs = {runs.after: 1, runs.shorter: 0}

    for candidate, code in pairs.items():
        assert runs.compare(runs.before, candidate).code == 0
        assert runs.compare(runs.before, candidate, "--fail-on-regression").code == code
        assert runs.compare(runs.before, candidate, "--fail-on-regression", "--json").code == code
    assert runs.compare(runs.before, runs.shorter, runs.after, "--fail-on-regression").code == 1


def test_show_shows_the_answers_of_the_most_certain_drops(runs: Runs) -> None:
    done = runs.compare(runs.before, runs.after, "--show", "2", COLUMNS="160")

    assert done.out.count("── case billing-") == 2
    assert "input  Question 0 on billing?" in done.out
    assert "A, sample 1 of 5" in done.out
    assert "regex  1, 1, 1, 1, 1 → 0, 0, 0, 0, 0: worse" in done.out
    assert "│ no�[31m" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize("before", [True, False], ids=["before the runs", "after the runs"])
def test_show_without_a_number_does_not_take_a_run_for_one(runs: Runs, *, before: bool) -> None:
    names = (runs.before, runs.after)

    done = runs.compare(*(("--show", *names) if before else (*names, "--show")))

    assert done.code == 0
    assert done.out.count("── case billing-") == 10


def test_a_slice_can_be_chosen(runs: Runs) -> None:
    done = runs.compare(runs.before, runs.after, "--slice", "topic", "--json")

    assert {each["key"] for each in done.json["slices"]} == {"topic"}


def test_output_in_a_pipe_has_no_colour_and_fits_80_columns(runs: Runs) -> None:
    lines = runs.compare(runs.before, runs.after).out.splitlines()

    assert max(map(len, lines)) < 80
    assert not any("\x1b" in line for line in lines)


@each(
    ("arguments", "said"),
    [
        (("@last",), "Name two or more runs, the baseline first"),
        (("@last", "@last"), "@last is given twice"),
        (("@last", "no-such-run"), "no-such-run"),
        (("@last", "no/such/file.json"), "no/such/file.json"),
        (("@last", "@last~1", "--show", "--json"), "--show is for people"),
        (("@last", "@last~1", "--show", "0"), "a whole number from 1 to 1,000,000"),
        (("@last", "@last~1", "--metric-threshold", "0"), "a number from 0.001 to 4"),
        (("@last", "@last~1", "--flag-threshold", "2"), "a number from 0.001 to 1"),
        (("@last", "@last~1", "--slice", "colour"), "colour"),
    ],
)
def test_what_cannot_be_used_ends_with_code_2(runs: Runs, arguments: tuple[str, ...], said: str) -> None:
    done = runs.compare(*arguments)

    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_runs_of_different_datasets_are_refused_with_code_3_unless_allowed(runs: Runs) -> None:
    other = runs.project
    other.cases([*CASES[:15], {"id": "new", "input": "billing?"}], name="other.jsonl")
    run = other.run(
        *("evaluate-dataset", "-d", "other.jsonl", "-s", "prompt.txt", "--json"),
        *("--generator-model", "python:bot:before", *METRICS),
    ).run_id

    refused = runs.compare(runs.before, run)
    allowed = runs.compare(runs.before, run, "--allow-different")
    other.run("runs", "delete", run, "--yes")  # leaves @last as it was

    assert (refused.code, refused.out) == (3, "")
    assert "--allow-different" in refused.err
    assert allowed.code == 0
    assert "1 added (new), 5 removed (orders-5, orders-6, orders-7, orders-8, orders-9)" in allowed.words


def test_files_made_elsewhere_are_compared(runs: Runs) -> None:
    scores = {f"case-{at}": [3.0, 4.0, 5.0, 4.0] for at in range(12)}
    write(runs.project.folder / "a.json", scores)
    write(runs.project.folder / "b.json", {name: [score - 1.5 for score in of] for name, of in scores.items()})

    done = runs.compare("a.json", "b.json", "--fail-on-regression")

    assert done.code == 1
    assert done.words.startswith("✗ B is worse than A on accuracy (\N{MINUS SIGN}1.50 on 1\N{EN DASH}5")


def write(path: Path, scores: Mapping[str, Sequence[float]]) -> None:
    cases = [scored_case(name, "accuracy", of) for name, of in scores.items()]
    path.write_bytes(artifact(*cases, run_id=path.stem))
