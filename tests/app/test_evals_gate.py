"""`evals gate` as a use case: which runs are compared, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from harness_runs import foreign_run, foreign_summary, harness_run, summary, write_history

from prompt_evaluator.app.evals.gate import GateRequest, judge_release
from prompt_evaluator.app.evals.limits import VARIABLES, gate_limits
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.harness.results import add_run
from prompt_evaluator.model.harness_gate import GateLimits

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.harness_gate import GateOutcome

NOW = "2026-11-17T06:00:00.000Z"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def judged(results: Path, now: str = NOW, **request: Any) -> GateOutcome:
    return judge_release(GateRequest(results, request.pop("limits", GateLimits()), **request), now)


def runs(results: Path, *rates: float) -> None:
    for at, rate in enumerate(rates, start=1):
        add_run(results, harness_run(f"run-{at}", summary(task_completion_rate=rate)))


def test_the_latest_run_is_compared_with_the_one_before_it(results: Path) -> None:
    runs(results, 99.0, 90.0, 89.0)

    found = judged(results)

    assert (found.verdict, found.exit_code) == ("pass", 0)
    assert (found.run_id, found.baseline_run_id) == ("run-3", "run-2")


def test_a_regression_of_one_configuration_fails(results: Path) -> None:
    add_run(results, harness_run("run-1", summary("a"), summary("b")))
    add_run(results, harness_run("run-2", summary("a"), summary("b", hallucination_incidents=1)))

    found = judged(results)

    assert (found.verdict, found.exit_code) == ("fail", 1)
    assert found.reasons == ("b: hallucination incidents increased by 1",)


@pytest.mark.parametrize("count", [0, 1])
def test_without_a_run_before_it_the_gate_is_skipped(results: Path, count: int) -> None:
    runs(results, *[95.0] * count)

    found = judged(results)

    assert (found.verdict, found.exit_code) == ("skipped", 0)
    assert found.reasons == ("Not enough eval history to detect regressions; skipping gate.",)
    assert "every build passes" in found.notes[0]


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "tasks": ({"tasks_hash": "1111"}, {"tasks_hash": "2222"}, "the tasks differ"),
    "configs": ({"config_hashes": {"a": "1111"}}, {"config_hashes": {"a": "2222"}}, "the configuration a differs"),
    "samples": ({}, {"samples": 3}, "the number of samples of each task differs: 1 → 3"),
    "incomplete": ({}, {"status": "partial"}, "the latest run run-2 is incomplete: its status is partial"),
    "mock": ({"synthetic": True}, {"synthetic": False}, "the offline mock answered in the baseline"),
}


@pytest.mark.parametrize(("allow", "difference"), REFUSED.items(), ids=REFUSED)
def test_runs_that_differ_are_refused_unless_that_is_allowed(
    results: Path, allow: Any, difference: tuple[dict[str, Any], dict[str, Any], str]
) -> None:
    before, after, says = difference
    add_run(results, harness_run("run-1", **before))
    add_run(results, harness_run("run-2", **after))

    refused = judged(results)
    others = judged(results, allowed={*REFUSED, "vanished"} - {allow})
    allowed = judged(results, allowed=(allow,))

    assert (refused.verdict, refused.exit_code, refused.allow) == ("refused", 3, (allow,))
    assert refused.reasons[0].startswith(says)
    assert others.verdict == "refused"
    assert allowed.verdict == "pass"
    assert any(note.startswith(f"Allowed: {says}") for note in allowed.notes)


def test_a_vanished_configuration_is_refused_unless_that_is_allowed(results: Path) -> None:
    add_run(results, harness_run("run-1", summary("a"), summary("gone")))
    add_run(results, harness_run("run-2", summary("a")))

    refused, allowed = judged(results), judged(results, allowed=("vanished",))

    assert refused.reasons == ("the latest run lacks a configuration of the baseline: gone",)
    assert (refused.exit_code, allowed.verdict) == (3, "pass")


def test_runs_without_a_common_configuration_are_refused_whatever_is_allowed(results: Path) -> None:
    add_run(results, harness_run("run-1", summary("gone")))
    add_run(results, harness_run("run-2", summary("new")))

    found = judged(results, allowed=("vanished",))

    assert (found.verdict, found.exit_code, found.allow) == ("refused", 3, ())


def test_what_a_run_does_not_state_is_not_different(results: Path) -> None:
    stated = {"tasks_hash": "1", "config_hashes": {"a": "1"}, "synthetic": True, "status": "completed"}
    add_run(results, harness_run("run-1", **stated))
    write_history(results, [*json.loads((results / "history.json").read_bytes()), foreign_run("run-2")])

    assert judged(results).verdict == "pass"


def test_a_new_configuration_is_mentioned_and_not_compared(results: Path) -> None:
    add_run(results, harness_run("run-1", summary("a")))
    add_run(results, harness_run("run-2", summary("a"), summary("new", task_completion_rate=1.0)))

    found = judged(results)

    assert found.verdict == "pass"
    assert found.notes[0] == "Not in the baseline, so not compared: new."


NOTHING = {
    "zero tasks": {"total_tasks": 0, "task_completion_rate": 0.0, "retries_per_task": 0.0, "latency_avg_ms": 0.0},
    "all errors": {"task_completion_rate": None, "retries_per_task": None, "latency_avg_ms": None, "errors": 20},
}


@pytest.mark.parametrize("nothing", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("latest", [True, False], ids=["latest", "baseline"])
def test_a_run_without_answers_is_refused(results: Path, nothing: dict[str, Any], *, latest: bool) -> None:
    parts = [summary(), summary(**nothing)]
    for number, part in enumerate(parts if latest else parts[::-1], start=1):
        add_run(results, harness_run(f"run-{number}", part))

    found = judged(results, allowed=(*REFUSED, "vanished"))

    assert (found.verdict, found.exit_code) == ("refused", 3)
    assert ("in the latest run" if latest else "in the baseline") in found.reasons[0]


def test_a_history_that_cannot_be_read_gives_no_verdict(results: Path) -> None:
    results.mkdir()
    (results / "history.json").write_bytes(b"[{")

    found = judged(results)

    assert (found.verdict, found.exit_code) == ("refused", 3)
    assert str(results / "history.json") in found.reasons[0]


def test_an_old_baseline_is_mentioned(results: Path) -> None:
    runs(results, 95.0, 95.0)

    assert judged(results, now="2026-11-23T05:59:59Z").notes == ()
    assert judged(results, now="2026-11-24T06:00:00Z").notes == ("The baseline is 8 days old.",)


def test_a_baseline_is_named_by_id_or_its_beginning_or_a_file(results: Path, tmp_path: Path) -> None:
    runs(results, 99.0, 95.0, 95.0)
    other = tmp_path / "other.json"
    other.write_text(json.dumps(foreign_run("elsewhere", foreign_summary(taskCompletionRate=99))), encoding="utf-8")

    found = {name: judged(results, baseline=name) for name in ("run-1", str(other))}

    assert {name: each.verdict for name, each in found.items()} == {"run-1": "fail", str(other): "fail"}
    assert found[str(other)].baseline_run_id == "elsewhere"
    with pytest.raises(ConfigurationError, match="'run-' is the beginning of 3 runs"):
        judged(results, baseline="run-")
    with pytest.raises(UnknownNameError, match="There is no run 'run-9'"):
        judged(results, baseline="run-9")


def test_the_latest_run_is_not_compared_with_itself(results: Path) -> None:
    runs(results, 99.0, 95.0)

    found = judged(results, baseline="run-2")

    assert (found.verdict, found.exit_code) == ("refused", 3)
    assert "is the baseline itself" in found.reasons[0]


def test_limits_come_from_flags_then_variables_then_the_documentation() -> None:
    environment = {"EVAL_MAX_COMPLETION_DROP": "5", "EVAL_MAX_RETRIES_INCREASE": " 1e1 "}

    found = gate_limits({"completion_drop": 7.0, "retries_increase": None}, environment)

    assert found == GateLimits(completion_drop=7.0, retries_increase=10.0)
    assert gate_limits({}, {}) == GateLimits(
        completion_drop=2.0, latency_increase_ms=400.0, hallucination_increase=0.0, retries_increase=0.5
    )


@each("text", ["2%", "", " ", "-1", "1e999", "nan", "inf", "two", "1,5", "0x10", "-0"])
@each("variable", VARIABLES.values())
def test_a_limit_that_is_not_a_number_of_at_least_zero_is_a_usage_error(variable: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{variable}: It has to be a number") as caught:
        gate_limits({}, {variable: text})

    assert caught.value.exit_code == 2
