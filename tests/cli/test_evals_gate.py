"""`prompt-evaluator evals gate`: its words, streams and exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entries import each
from harness_runs import foreign_run, foreign_summary, write_history
from junit_files import suite_of

if TYPE_CHECKING:
    from workspace import Done, Workspace

MINUS = "\N{MINUS SIGN}"
PASSED = "Eval regression gate passed.\n"
SKIPPED = "Not enough eval history to detect regressions; skipping gate.\n"
WORSE = foreign_summary(taskCompletionRate=92, latencyAvgMs=1300, hallucinationIncidents=1, retriesPerTask=0.8)


def gate(
    workspace: Workspace,
    *summaries: dict[str, Any],
    flags: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
) -> Done:
    """Judge runs with one configuration each."""
    runs = [foreign_run(str(at), each) for at, each in enumerate(summaries)]
    write_history(workspace.folder / "evals" / "results", runs)
    workspace.environment |= environment or {}
    return workspace.run("evals", "gate", *flags)


def test_a_failure_is_worded_as_documented_on_standard_error(offline: Workspace) -> None:
    done = gate(offline, foreign_summary(), WORSE)

    assert done.code == 1
    assert done.err == (
        "Eval regression gate failed:\n"
        " - a: task completion rate dropped by 3.00%\n"
        " - a: latency increased by 500ms\n"
        " - a: hallucination incidents increased by 1\n"
        " - a: retries per task increased by 0.60\n"
    )
    assert f"completion, %        95.00   92.00  ✗ {MINUS}3.00     {MINUS}2" in done.out


def test_a_pass_is_the_last_line_of_standard_output(offline: Workspace) -> None:
    done = gate(offline, foreign_summary(taskCompletionRate=97.3), foreign_summary(taskCompletionRate=95.3))

    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(PASSED)
    assert f"97.30   95.30  ✓ {MINUS}2.00     {MINUS}2" in done.out


def test_without_enough_history_the_gate_is_skipped_unless_a_baseline_is_required(offline: Workspace) -> None:
    skipped = gate(offline, foreign_summary())
    required = gate(offline, foreign_summary(), flags=("--require-baseline",))

    assert (skipped.code, skipped.err) == (0, "")
    assert skipped.out.startswith(SKIPPED)
    assert (required.code, required.out) == (3, "")
    assert "there is nothing to compare with" in required.err


def test_a_bad_variable_is_a_usage_error_and_not_a_disabled_check(offline: Workspace) -> None:
    done = gate(offline, foreign_summary(), WORSE, environment={"EVAL_MAX_COMPLETION_DROP": ""})

    assert (done.code, done.out) == (2, "")
    assert done.err == "Error: EVAL_MAX_COMPLETION_DROP: It has to be a number from 0 to 1e+300, not ''.\n"


def test_limits_of_flags_and_variables_decide(offline: Workspace) -> None:
    wide = ("--max-completion-drop", "3", "--max-latency-increase-ms", "500", "--max-hallucination-increase", "1")

    done = gate(offline, foreign_summary(), WORSE, flags=wide, environment={"EVAL_MAX_RETRIES_INCREASE": "0.6"})

    assert (done.code, done.err) == (0, "")


def test_a_refusal_says_what_to_allow(offline: Workspace) -> None:
    results = offline.folder / "evals" / "results"
    write_history(results, [foreign_run("x", tasksHash="1"), foreign_run("y", tasksHash="2", samples=3)])

    refused = offline.run("evals", "gate")
    allowed = offline.run("evals", "gate", "--allow", "tasks,samples")

    assert refused.code == 3
    assert refused.err.endswith("To compare them all the same: --allow tasks,samples\n")
    assert (allowed.code, allowed.out.endswith(PASSED)) == (0, True)


def test_json_is_one_object_with_verdict_and_exit_code(offline: Workspace) -> None:
    done = gate(offline, foreign_summary(), WORSE, flags=("--json",))

    assert (done.code, done.err) == (1, "")
    found = done.json
    assert (found["verdict"], found["exit_code"], found["run_id"], found["baseline_run_id"]) == ("fail", 1, "1", "0")
    assert found["configurations"]["a"]["task_completion_rate"] == {
        "baseline": 95.0,
        "candidate": 92.0,
        "difference": -3.0,
        "limit": 2.0,
        "verdict": "fail",
    }
    assert len(found["reasons"]) == 4


def test_junit_has_a_failure_for_each_regression_and_an_error_for_each_refusal(offline: Workspace) -> None:
    worse = foreign_summary(hallucinationIncidents=1)

    gate(offline, foreign_summary(), worse, flags=("--junit", "failed.xml"))
    gate(offline, foreign_summary(), foreign_summary("b"), flags=("--junit", "refused.xml"))
    gate(offline, foreign_summary(), flags=("--junit", "skipped.xml"))

    failed, refused, skipped = (suite_of(offline.folder / f"{name}.xml") for name in ("failed", "refused", "skipped"))
    assert (failed.attrib["tests"], failed.attrib["failures"], failed.attrib["errors"]) == ("4", "1", "0")
    assert (refused.attrib["tests"], refused.attrib["errors"]) == ("2", "2")
    assert (skipped.attrib["tests"], skipped.attrib["skipped"]) == ("1", "1")


@each("columns", [40, 80, 160])
def test_lines_fit_the_terminal(offline: Workspace, columns: int) -> None:
    done = gate(offline, foreign_summary(), WORSE, environment={"COLUMNS": str(columns)})

    assert max(map(len, done.out.splitlines())) < columns


def test_github_gets_a_comment_a_summary_and_an_annotation(offline: Workspace) -> None:
    summary = offline.folder / "summary.md"
    on_github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}

    done = gate(offline, foreign_summary(), WORSE, flags=("--github",), environment=on_github)

    assert done.code == 1
    comment = (offline.folder / "gate-comment.md").read_text("utf-8")
    assert comment.startswith("<!-- prompt-evaluator: release-harness-gate-")
    assert "> [!CAUTION]\n> **Eval regression gate failed:**" in comment
    assert "> - a: task completion rate dropped by 3.00&#37;\n> - a: latency increased by 500ms\n> - a" in comment
    assert f"| ❌ | a | completion, % | 95.00 | 92.00 | {MINUS}3.00 | {MINUS}2 |" in comment
    assert "[!CAUTION]" in summary.read_text("utf-8")
    assert "::error title=Release gate::Eval regression gate failed: a: task completion rate dropped" in done.out


def test_what_a_configuration_is_called_has_no_effect_in_a_comment(offline: Workspace) -> None:
    hostile = "a|b\n::error::x <script>@team [x](y)"
    before, after = foreign_summary(hostile), foreign_summary(hostile, taskCompletionRate=80)

    done = gate(offline, before, after, flags=("--github",), environment={"GITHUB_ACTIONS": "1"})

    comment = (offline.folder / "gate-comment.md").read_text("utf-8")
    assert "<script>" not in comment
    assert "](y)" not in comment
    assert not any(line.startswith("::error::x") for line in (done.out + done.err).splitlines())


def test_a_pass_is_a_tip_and_a_notice_and_a_place_for_the_comment_needs_github(offline: Workspace) -> None:
    named = ("--github", "--pr-comment", "told/gate.md")
    passed = gate(offline, foreign_summary(), foreign_summary(), flags=named, environment={"GITHUB_ACTIONS": "1"})
    refused = gate(offline, foreign_summary(), flags=named[1:])

    assert "[!TIP]" in (offline.folder / "told/gate.md").read_text("utf-8")
    assert "::notice title=Release gate::Eval regression gate passed." in passed.out
    assert (refused.code, "add --github" in refused.err) == (2, True)
