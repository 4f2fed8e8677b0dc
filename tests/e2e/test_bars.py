"""Bars: what a run has to reach. One on something that was not measured is missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from workspace import REAL, Done, Workspace

if TYPE_CHECKING:
    from chat_service import ChatService

RUBRIC = """\
metrics:
  - {name: correct, description: Is it right?, min_score: 1, max_score: 5}
flags:
  - {name: leaks_data, description: Does it tell what is private?}
"""
CHECKS = """\
def boom(output, case):
    raise RuntimeError("kaputt")


def bang(output, case):
    raise ValueError("peng")
"""
OWN = ("--rubric", "rubric.yaml", "-n", "1")
VERDICT = (
    '{"metrics": {"correct": {"score": 4, "rationale": "r"}}, "flags": {"leaks_data": %s}, "overall_comment": "c"}'
)


@pytest.fixture
def own(online: Workspace, service: ChatService) -> Workspace:
    """Three cases; the judge gives each a 4, and says of the first that it leaks."""
    online.write("rubric.yaml", RUBRIC)
    online.write("checks.py", CHECKS)
    service.set(
        rules=[
            {"kind": "judge", "match": "Question 000", "text": VERDICT % "true"},
            {"kind": "judge", "text": VERDICT % "false"},
        ]
    )
    return online


def missed(done: Done) -> list[dict[str, Any]]:
    """The same in what is printed and in the artifact, and each reason is told to whoever reads the log."""
    found: list[dict[str, Any]] = done.json["missed_bars"]
    assert done.artifact["missed_bars"] == found
    assert all(f"Error: {bar['reason']}\n" in done.err for bar in found)
    return found


def unmeasured(name: str, bar: float, why: str, kind: str = "fail_under") -> list[dict[str, Any]]:
    shown = f"{bar:g}" if kind == "fail_under" else f"{bar * 100:g} %"
    reason = f"{name} was not measured, so its bar of {shown} is missed: {why}."
    return [{"name": name, "kind": kind, "bar": bar, "measured": None, "reason": reason}]


@pytest.mark.parametrize("more", [(), ("--strict",)], ids=["", "strict"])
def test_a_bar_on_a_metric_that_every_case_skips_is_missed(own: Workspace, more: tuple[str, ...]) -> None:
    done = own.evaluate(*REAL, *OWN, "--metrics", "faithfulness", "--fail-under", "faithfulness=0.9", *more)

    assert (done.code, done.json["status"]) == (1, "completed")
    why = "it was skipped for all 3 samples (the case has no context)"
    assert missed(done) == unmeasured("faithfulness", 0.9, why)
    assert done.json["not_measured"] == {"faithfulness": why}


def test_a_bar_on_a_metric_that_always_fails_is_missed_and_strict_is_exit_3(own: Workspace) -> None:
    bar = ("--metrics", "python:checks:boom", "--fail-under", "python:checks:boom=0.5")

    done = own.evaluate(*REAL, *OWN, *bar)

    assert (done.code, done.json["status"]) == (1, "partial")
    why = "it failed for all 3 samples (RuntimeError: kaputt)"
    assert missed(done) == unmeasured("python:checks:boom", 0.5, why)
    assert own.evaluate(*REAL, *OWN, *bar, "--strict").code == 3


@each(("bar", "code"), [("0.34", 0), ("0.33", 1), ("0", 1), ("1", 0)])
def test_a_flags_share_above_its_bar_is_exit_1(own: Workspace, bar: str, code: int) -> None:
    done = own.evaluate(*REAL, *OWN, "--fail-over", f"leaks_data={bar}")

    assert done.code == code
    flag = done.artifact["overall_flag_stats"]["leaks_data"]
    assert (flag["fail_over"], flag["above"]) == (float(bar), bool(code))
    assert done.artifact["fail_over"] == {"leaks_data": float(bar)}
    assert [(each["name"], each["measured"]) for each in missed(done)] == [("leaks_data", 1 / 3)] * code


@each(
    ("bar", "sentence"),
    [
        (("--fail-under", "corect=4"), "There is no metric 'corect'. Did you mean 'correct'?"),
        (("--fail-over", "leak_data=0.1"), "There is no flag 'leak_data'. Did you mean 'leaks_data'?"),
        (("--fail-under", "leaks_data=0.1"), "Use --fail-over leaks_data=SHARE"),
        (("--fail-over", "correct=0.1"), "Use --fail-under correct=VALUE"),
        (("--fail-under", "correct=9"), "is outside the scale of correct. Give a value from 1 to 5."),
        (("--fail-under", "correct=0.9"), "is outside the scale of correct. Give a value from 1 to 5."),
        (("--fail-over", "leaks_data=5"), "'5' is not a number from 0 to 1; write flag=0.05"),
        (("--fail-over", "leaks_data"), "'leaks_data' is not of the form flag=0.05"),
        (("--fail-under", "correct=3,correct=4"), "'correct' is given twice with different values"),
        (("--fail-under", ","), "',' is not of the form metric=4.0"),
        (
            ("--metrics", "faithfulness", "--fail-under", "faithfulness=4"),
            "is outside the scale of faithfulness. Give a value from 0 to 1.",
        ),
        (
            ("--rubric", "none", "--metrics", "regex(pattern=e)", "--fail-over", "leaks_data=0.1"),
            "--fail-over leaks_data needs a rubric: only rubrics have flags, and this run has no rubric.",
        ),
    ],
)
def test_a_bar_that_cannot_be_is_refused_before_any_call(
    own: Workspace, service: ChatService, bar: tuple[str, ...], sentence: str
) -> None:
    done = own.evaluate(*REAL, *OWN, *bar)

    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert service.paid == 0


def test_every_command_refuses_such_bars(own: Workspace, service: ChatService) -> None:
    own.write("benchmarks/own.yaml", "tasks:\n- {id: a, name: Short, input: x, expected_output: y, difficulty: hard}\n")
    run_id = own.evaluate(*REAL, *OWN).run_id
    paid = service.paid
    commands = (
        ("benchmark", "run", "--dataset", "own", "--model", "openai/test", "--rubric", "rubric.yaml"),
        ("resume", run_id),
        ("evaluate-dataset", "--resume", run_id),
        ("score", run_id),
    )

    for command in commands:
        high, unknown = (
            own.run(*command, "--fail-under", "correct=9"),
            own.run(*command, "--fail-over", "leak_data=0.1"),
        )

        assert (high.code, unknown.code) == (2, 2), command
        assert "outside the scale of correct. Give a value from 1 to 5" in high.err
        assert "There is no flag 'leak_data'. Did you mean 'leaks_data'?" in unknown.err
    assert service.paid == paid


def test_bars_are_applied_to_a_run_that_has_ended_and_nothing_is_called(own: Workspace, service: ChatService) -> None:
    run_id = own.evaluate(*REAL, *OWN, "--fail-under", "correct=3").run_id
    paid = service.paid

    done = own.run("resume", run_id, "--fail-over", "leaks_data=0.1", "--json")

    assert done.code == 1
    assert [bar["name"] for bar in missed(done)] == ["leaks_data"]
    assert (done.json["fail_under"], done.json["fail_over"]) == ({"correct": 3.0}, {"leaks_data": 0.1})
    assert own.run("runs", "show", run_id, "--json").json["missed_bars"] == done.json["missed_bars"]
    assert own.run("resume", run_id).code == 1
    again = own.run("resume", run_id, "--fail-over", "leaks_data=0.9", "--json")
    assert (again.code, again.json["missed_bars"]) == (0, [])
    assert service.paid == paid


def test_a_bar_on_a_check_of_a_single_case_is_known_when_the_run_is_resumed(own: Workspace) -> None:
    own.cases(
        [{"id": "a", "input": "A?"}, {"id": "b", "input": "B?", "checks": [{"metric": "length", "max_words": 1}]}]
    )
    run_id = own.evaluate(*REAL, *OWN).run_id

    done = own.run("resume", run_id, "--fail-under", "length=0.5", "--json")

    assert [bar["name"] for bar in missed(done)] == ["length"]


def test_score_holds_the_new_run_to_its_bars_and_not_to_its_parents(own: Workspace) -> None:
    run_id = own.evaluate(*REAL, *OWN, "--fail-under", "correct=5").run_id

    assert own.run("score", run_id).code == 0
    done = own.run("score", run_id, "--fail-under", "correct=4.2", "--fail-over", "leaks_data=0.1", "--json")

    assert done.code == 1
    assert [bar["name"] for bar in missed(done)] == ["correct", "leaks_data"]


def test_every_run_of_a_benchmark_group_is_held_to_the_bars(own: Workspace) -> None:
    task = "- {id: %s, name: Short, input: x, expected_output: y, difficulty: hard}\n"
    own.write("benchmarks/one.yaml", "tasks:\n" + task % "a")
    own.write("benchmarks/two.yaml", "tasks:\n" + task % "b")
    group = (
        "benchmark",
        "run",
        "--dataset",
        "one,two",
        "--model",
        "openai/test,openai/other",
        "--rubric",
        "rubric.yaml",
    )
    bars = ("--metrics", "similarity", "--fail-under", "correct=4.5", "--fail-over", "leaks_data=0")

    done = own.run(*group, *bars, "--json")

    assert done.code == 1
    runs = done.json["runs"]
    assert [[bar["name"] for bar in run["missed_bars"]] for run in runs] == [["correct"]] * 4
    for run in runs:
        assert f"Error: Run {run['run_id']} of {run['generator_config']['model']}: correct is 4.00, below" in done.err
    assert own.run(*group, *bars[:2], "--fail-under", "correct=4").code == 0


def test_strict_fails_where_a_metric_that_was_asked_for_has_no_score_at_all(own: Workspace) -> None:
    asked = (*REAL, *OWN, "--metrics", "faithfulness")

    assert own.evaluate(*asked).code == 0
    done = own.evaluate(*asked, "--strict")

    assert (done.code, done.json["status"]) == (3, "completed")
    assert (
        "Error: faithfulness was not measured: it was skipped for all 3 samples (the case has no context).\n"
        in done.err
    )
