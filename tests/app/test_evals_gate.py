"""`evals gate` as a use case: which runs are compared, what is refused, and what is recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from harness_runs import evaluation, foreign_run, foreign_summary, harness_run, summary, write_history

from prompt_evaluator.app.evals.baseline import set_baseline
from prompt_evaluator.app.evals.gate import GateRequest, judge_release
from prompt_evaluator.app.evals.limits import VARIABLES, gate_limits
from prompt_evaluator.app.evals.named_runs import HarnessFolder
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.harness.results import add_run
from prompt_evaluator.model.harness_gate import GateLimits

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.harness_gate import GateOutcome

NOW = "2026-11-17T06:00:00.000Z"


@pytest.fixture
def folder(tmp_path: Path) -> HarnessFolder:
    return HarnessFolder(tmp_path)


def judged(folder: HarnessFolder, now: str = NOW, **request: Any) -> GateOutcome:
    return judge_release(GateRequest(folder, request.pop("limits", GateLimits()), **request), now)


def runs(folder: HarnessFolder, *rates: float) -> None:
    for at, rate in enumerate(rates, start=1):
        add_run(folder.results, harness_run(f"run-{at}", summary(task_completion_rate=rate)))


def verdicts(folder: HarnessFolder) -> list[tuple[str, str | None, str]]:
    found = json.loads((folder.results / "gate.json").read_bytes())
    return [(each["runId"], each["baselineRunId"], each["verdict"]) for each in found]


def test_the_latest_run_is_compared_with_the_one_before_it(folder: HarnessFolder) -> None:
    runs(folder, 99.0, 90.0, 89.0)

    found = judged(folder)

    assert (found.verdict, found.exit_code) == ("pass", 0)
    assert (found.run_id, found.baseline_run_id) == ("run-3", "run-2")
    assert verdicts(folder) == [("run-3", "run-2", "pass")]


def test_a_regression_of_one_configuration_fails(folder: HarnessFolder) -> None:
    add_run(folder.results, harness_run("run-1", summary("a"), summary("b")))
    add_run(folder.results, harness_run("run-2", summary("a"), summary("b", hallucination_incidents=1)))

    found = judged(folder)

    assert (found.verdict, found.exit_code) == ("fail", 1)
    assert found.reasons == ("b: hallucination incidents increased by 1",)


def test_files_with_the_documented_keys_only_are_compared(folder: HarnessFolder) -> None:
    write_history(folder.results, [foreign_run("x"), foreign_run("y", foreign_summary(taskCompletionRate=92))])

    assert judged(folder).reasons == ("a: task completion rate dropped by 3.00%",)


def test_two_mock_runs_are_compared_like_any_others(folder: HarnessFolder) -> None:
    for name, rate in (("run-1", 95.0), ("run-2", 80.0)):
        add_run(folder.results, harness_run(name, summary(task_completion_rate=rate), synthetic=True))

    assert judged(folder).verdict == "fail"


@pytest.mark.parametrize("count", [0, 1])
def test_without_a_run_before_it_the_gate_is_skipped(folder: HarnessFolder, count: int) -> None:
    runs(folder, *[95.0] * count)

    found = judged(folder)

    assert (found.verdict, found.exit_code) == ("skipped", 0)
    assert found.reasons == ("Not enough eval history to detect regressions; skipping gate.",)
    assert "every build passes" in found.notes[0]


@pytest.mark.parametrize("count", [0, 1])
def test_without_a_required_baseline_there_is_no_verdict(folder: HarnessFolder, count: int) -> None:
    runs(folder, *[95.0] * count)

    found = judged(folder, require_baseline=True)

    assert (found.verdict, found.exit_code) == ("refused", 3)
    assert not (folder.results / "gate.json").exists()


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "tasks": ({"tasks_hash": "1111"}, {"tasks_hash": "2222"}, "the tasks differ"),
    "configs": ({"config_hashes": {"a": "1111"}}, {"config_hashes": {"a": "2222"}}, "the configuration a differs"),
    "samples": ({}, {"samples": 3}, "the number of samples of each task differs: 1 → 3"),
    "incomplete": ({}, {"status": "partial"}, "the latest run run-2 is incomplete: its status is partial"),
    "mock": ({"synthetic": True}, {"synthetic": False}, "the offline mock answered in the baseline"),
}


@pytest.mark.parametrize(("allow", "difference"), REFUSED.items(), ids=REFUSED)
def test_runs_that_differ_are_refused_unless_that_is_allowed(
    folder: HarnessFolder, allow: Any, difference: tuple[dict[str, Any], dict[str, Any], str]
) -> None:
    before, after, says = difference
    add_run(folder.results, harness_run("run-1", **before))
    add_run(folder.results, harness_run("run-2", **after))

    refused = judged(folder)
    others = judged(folder, allowed={*REFUSED, "vanished"} - {allow})
    allowed = judged(folder, allowed=(allow,))

    assert (refused.verdict, refused.exit_code, refused.allow) == ("refused", 3, (allow,))
    assert refused.reasons[0].startswith(says)
    assert others.verdict == "refused"
    assert allowed.verdict == "pass"
    assert any(note.startswith(f"Allowed: {says}") for note in allowed.notes)
    assert verdicts(folder) == [("run-2", "run-1", "pass")]


def test_a_vanished_configuration_is_refused_unless_that_is_allowed(folder: HarnessFolder) -> None:
    add_run(folder.results, harness_run("run-1", summary("a"), summary("gone")))
    add_run(folder.results, harness_run("run-2", summary("a")))

    refused, allowed = judged(folder), judged(folder, allowed=("vanished",))

    assert refused.reasons == ("the latest run lacks a configuration of the baseline: gone",)
    assert (refused.exit_code, allowed.verdict) == (3, "pass")


def test_runs_without_a_common_configuration_are_refused_whatever_is_allowed(folder: HarnessFolder) -> None:
    add_run(folder.results, harness_run("run-1", summary("gone")))
    add_run(folder.results, harness_run("run-2", summary("new")))

    found = judged(folder, allowed=("vanished",))

    assert (found.verdict, found.exit_code, found.allow) == ("refused", 3, ())


def test_what_a_run_does_not_state_is_not_different(folder: HarnessFolder) -> None:
    stated = {"tasks_hash": "1", "config_hashes": {"a": "1"}, "synthetic": True, "status": "completed"}
    add_run(folder.results, harness_run("run-1", **stated))
    write_history(folder.results, [*json.loads((folder.results / "history.json").read_bytes()), foreign_run("run-2")])

    assert judged(folder).verdict == "pass"


def test_a_new_configuration_is_mentioned_and_not_compared(folder: HarnessFolder) -> None:
    add_run(folder.results, harness_run("run-1", summary("a")))
    add_run(folder.results, harness_run("run-2", summary("a"), summary("new", task_completion_rate=1.0)))

    found = judged(folder)

    assert found.verdict == "pass"
    assert found.notes[0] == "Not in the baseline, so not compared: new."


NOTHING = {
    "zero tasks": {"total_tasks": 0, "task_completion_rate": 0.0, "retries_per_task": 0.0, "latency_avg_ms": 0.0},
    "all errors": {"task_completion_rate": None, "retries_per_task": None, "latency_avg_ms": None, "errors": 20},
}


@pytest.mark.parametrize("nothing", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("latest", [True, False], ids=["latest", "baseline"])
def test_a_run_without_answers_is_refused(folder: HarnessFolder, nothing: dict[str, Any], *, latest: bool) -> None:
    parts = [summary(), summary(**nothing)]
    for number, each in enumerate(parts if latest else parts[::-1], start=1):
        add_run(folder.results, harness_run(f"run-{number}", each))

    found = judged(folder, allowed=(*REFUSED, "vanished"))

    assert (found.verdict, found.exit_code) == ("refused", 3)
    assert ("in the latest run" if latest else "in the baseline") in found.reasons[0]


def test_a_history_that_cannot_be_read_gives_no_verdict(folder: HarnessFolder) -> None:
    folder.results.mkdir()
    (folder.results / "history.json").write_bytes(b"[{")

    found = judged(folder)

    assert (found.verdict, found.exit_code) == ("refused", 3)
    assert str(folder.results / "history.json") in found.reasons[0]


def test_an_old_baseline_is_mentioned(folder: HarnessFolder) -> None:
    runs(folder, 95.0, 95.0)

    assert judged(folder, now="2026-11-23T05:59:59Z").notes == ()
    assert judged(folder, now="2026-11-24T06:00:00Z").notes == ("The baseline is 8 days old.",)


def test_a_timestamp_that_is_not_one_has_no_age(folder: HarnessFolder) -> None:
    write_history(folder.results, [foreign_run("x", timestamp="yesterday"), foreign_run("y", timestamp="today")])

    assert judged(folder).verdict == "pass"


def test_a_baseline_is_named_by_id_or_its_beginning_or_a_file(folder: HarnessFolder, tmp_path: Path) -> None:
    runs(folder, 99.0, 95.0, 95.0)
    other = tmp_path / "other.json"
    other.write_text(json.dumps(foreign_run("elsewhere", foreign_summary(taskCompletionRate=99))), encoding="utf-8")

    found = {name: judged(folder, baseline=name) for name in ("run-1", str(other))}

    assert {name: each.verdict for name, each in found.items()} == {"run-1": "fail", str(other): "fail"}
    assert found[str(other)].baseline_run_id == "elsewhere"
    with pytest.raises(ConfigurationError, match="'run-' is the beginning of 3 runs"):
        judged(folder, baseline="run-")
    with pytest.raises(UnknownNameError, match="There is no run 'run-9'"):
        judged(folder, baseline="run-9")


def test_the_latest_run_is_not_compared_with_itself(folder: HarnessFolder) -> None:
    runs(folder, 99.0, 95.0)

    found = judged(folder, baseline="run-2")

    assert (found.verdict, found.exit_code) == ("refused", 3)
    assert "is the baseline itself" in found.reasons[0]


def test_the_pinned_run_is_compared_however_many_came_since(folder: HarnessFolder) -> None:
    runs(folder, 99.0)
    set_baseline(folder, "latest", note="release 1", now=NOW)
    (folder.results / "history.json").unlink()
    for at, rate in enumerate((98.0, 97.0, 96.0), start=2):
        add_run(folder.results, harness_run(f"run-{at}", summary(task_completion_rate=rate)))

    found = judged(folder, baseline="pinned")

    assert (found.verdict, found.baseline_run_id, found.run_id) == ("fail", "run-1", "run-4")
    assert found.baseline == "pinned on 2026-11-17: release 1"


def test_a_decline_is_measured_from_the_last_run_that_passed(folder: HarnessFolder) -> None:
    add_run(folder.results, harness_run("run-1", summary(task_completion_rate=95.0)))
    assert judged(folder, baseline="last-passed").verdict == "skipped"
    found = []
    for at, rate in enumerate((92.0, 91.0, 94.0, 92.5, 91.0), start=2):
        add_run(folder.results, harness_run(f"run-{at}", summary(task_completion_rate=rate)))
        judgement = judged(folder, baseline="last-passed")
        found.append((judgement.baseline_run_id, judgement.verdict))

    assert found == [("run-1", "fail"), ("run-1", "fail"), ("run-1", "pass"), ("run-4", "pass"), ("run-5", "pass")]


def test_a_second_gate_on_the_same_run_does_not_compare_it_with_itself(folder: HarnessFolder) -> None:
    runs(folder, 95.0, 80.0)
    judged(folder, limits=GateLimits(completion_drop=50.0))

    with_itself = judged(folder, baseline="last-passed")

    assert with_itself.verdict == "refused"
    assert "no run has passed the gate yet" in with_itself.reasons[0]


def test_no_pinned_run_gives_no_verdict(folder: HarnessFolder) -> None:
    runs(folder, 95.0, 95.0)

    found = judged(folder, baseline="pinned")

    assert (found.verdict, found.exit_code) == ("refused", 3)
    assert "evals baseline set" in found.reasons[0]


def test_a_verdict_that_cannot_be_recorded_is_the_same_with_a_note(folder: HarnessFolder) -> None:
    runs(folder, 95.0, 80.0)
    (folder.results / "gate.json").write_bytes(b"{")

    found = judged(folder)

    assert (found.verdict, found.exit_code) == ("fail", 1)
    assert found.notes[-1].startswith("The verdict is not recorded")
    assert (folder.results / "gate.json").read_bytes() == b"{"


def test_an_incomplete_run_is_not_pinned(folder: HarnessFolder) -> None:
    add_run(folder.results, harness_run("run-1", status="aborted"))

    with pytest.raises(ConfigurationError, match="is aborted"):
        set_baseline(folder, "run-1", note=None, now=NOW)


def test_limits_come_from_flags_then_variables_then_the_documentation() -> None:
    environment = {"EVAL_MAX_COMPLETION_DROP": "5", "EVAL_MAX_RETRIES_INCREASE": " 1e1 "}

    found = gate_limits({"completion_drop": 7.0, "retries_increase": None}, environment)

    assert found == GateLimits(completion_drop=7.0, retries_increase=10.0)
    assert gate_limits({}, {}) == GateLimits(
        completion_drop=2.0, latency_increase_ms=400.0, hallucination_increase=0.0, retries_increase=0.5
    )


@pytest.mark.parametrize("text", ["2%", "", " ", "-1", "1e999", "nan", "inf", "two", "1,5", "0x10", "-0"])
@pytest.mark.parametrize("variable", VARIABLES.values())
def test_a_limit_that_is_not_a_number_of_at_least_zero_is_a_usage_error(variable: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{variable}: It has to be a number") as caught:
        gate_limits({}, {variable: text})

    assert caught.value.exit_code == 2


def two_runs(folder: HarnessFolder, passes: tuple[int, int], tasks: int = 60, **more: Any) -> None:
    """Two runs of so many tasks, of which the first ones pass."""
    for name, passed in zip(("run-1", "run-2"), passes, strict=True):
        found = [evaluation(task_id=str(task), completion_pass=task < passed) for task in range(tasks)]
        whole = summary(total_tasks=tasks, task_completion_rate=100 * passed / tasks)
        add_run(folder.results, harness_run(name, whole, evaluations=tuple(found), **more))


@pytest.mark.parametrize(("passes", "verdict", "code"), [((58, 30), "fail", 1), ((58, 56), "inconclusive", 4)])
def test_the_noise_policy_tells_a_regression_from_bad_luck(
    folder: HarnessFolder, passes: tuple[int, int], verdict: str, code: int
) -> None:
    two_runs(folder, passes)

    found = judged(folder, policy="noise")

    assert (found.verdict, found.exit_code, found.policy) == (verdict, code, "noise")
    assert judged(folder).verdict == "fail"  # fixed limits cannot tell
    assert verdicts(folder)[0] == ("run-2", "run-1", verdict)


@pytest.mark.parametrize(("meaning", "code"), [("pass", 0), ("fail", 1)])
def test_an_inconclusive_verdict_exits_as_asked(folder: HarnessFolder, meaning: Any, code: int) -> None:
    two_runs(folder, (58, 56))

    found = judged(folder, policy="noise", inconclusive=meaning)

    assert (found.verdict, found.exit_code) == ("inconclusive", code)


def test_the_noise_policy_passes_runs_that_did_not_get_worse(folder: HarnessFolder) -> None:
    two_runs(folder, (55, 60))

    assert judged(folder, policy="noise").verdict == "pass"


def test_the_noise_policy_has_no_verdict_without_evaluations(folder: HarnessFolder) -> None:
    write_history(folder.results, [foreign_run("x"), foreign_run("y")])

    found = judged(folder, policy="noise")

    assert (found.verdict, found.exit_code) == ("refused", 3)


def test_a_run_with_errors_is_judged_by_the_noise_policy_which_takes_them_into_account(folder: HarnessFolder) -> None:
    two_runs(folder, (58, 30), status="partial")

    assert judged(folder).verdict == "refused"
    assert judged(folder, policy="noise").verdict == "fail"
