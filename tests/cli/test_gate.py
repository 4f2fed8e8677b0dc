"""`prompt-evaluator gate` and `evaluate-dataset --gate`, as installed commands on stored runs and on files."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from junit_files import suite_of
from workspace import Workspace

from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from workspace import Done

    from prompt_evaluator.model.release import Verdict

BOT = """
import os

def before(question):
    return f"yes, because {question} was asked"

def after(question):
    return "no" if "billing" in question else before(question)

def broken(question):
    if "billing" in question:
        raise ValueError("out of order")
    return before(question)

def never(question):
    open(os.environ["CALLED"], "w").close()
    return "yes"
"""
CASES = [
    {"id": f"{topic}-{at}", "input": f"Question {at} on {topic}?", "metadata": {"topic": topic}}
    for topic in ("billing", "orders")
    for at in range(32)
]
METRICS = ("--rubric", "none", "--metrics", "regex(pattern=yes)", "-n", "2")
POLICY = "guardrails: {cost: 0.5}\n"
KEYS = ["difference", "low", "high", "margin", "verdict", "more_samples"]


class Runs:
    """A baseline, a run that is worse, one that is as good, and one with errors."""

    def __init__(self, project: Workspace) -> None:
        self.project = project
        project.write("gates.yaml", POLICY)
        self.before, self.after, self.again, self.broken = (
            project.evaluate("--generator-model", f"python:bot:{name}", *METRICS).run_id
            for name in ("before", "after", "before", "broken")
        )

    def gate(self, *arguments: str, **environment: str) -> Done:
        return Workspace(self.project.folder, environment).run("gate", *arguments)

    def file(self, run_id: str) -> str:
        return f"runs/{run_id}/dataset_evaluation.json"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    project = Workspace(tmp_path_factory.mktemp("gate"))
    project.write("bot.py", BOT)
    project.cases(CASES)
    return Runs(project)


def test_a_worse_run_fails_with_the_verdict_first(runs: Runs) -> None:
    done = runs.gate(runs.after, "--baseline", runs.before)

    assert done.code == 1
    assert done.out.lstrip().startswith("✗ Fail")
    assert "regex: \N{MINUS SIGN}50 points" in done.words
    assert "a drop of at most 5 points may pass" in done.words
    assert "gates.yaml" in done.words
    assert "compare" in done.words


def test_an_equal_run_passes(runs: Runs) -> None:
    done = runs.gate(runs.again, "--baseline", runs.before)

    assert done.code == 0
    assert done.out.lstrip().startswith("✓ Pass")


def test_json_has_the_documented_keys_in_order(runs: Runs) -> None:
    done = runs.gate(runs.after, "--baseline", runs.before, "--json")

    found = done.json
    assert done.code == found["exit_code"] == 1
    assert [*found][:5] == ["verdict", "exit_code", "metrics", "guardrails", "reasons"]
    assert found["verdict"] == "fail"
    assert [*found["metrics"]["regex"]][:6] == KEYS
    assert found["metrics"]["regex"]["difference"] == -0.5
    assert found["metrics"]["regex"]["low"] <= -0.5 <= found["metrics"]["regex"]["high"]
    assert [*found["guardrails"]["errors"]][:5] == KEYS[:5]
    assert found["reasons"]
    assert found["policy"]["path"].endswith("gates.yaml")


def test_files_and_stored_runs_are_gated_alike(runs: Runs) -> None:
    stored = runs.gate(runs.after, "--baseline", runs.before, "--json").json
    files = runs.gate(runs.file(runs.after), "--baseline", runs.file(runs.before), "--json").json

    assert files["metrics"] == stored["metrics"]
    assert files["verdict"] == stored["verdict"]


def test_the_verdict_on_a_stored_run_is_kept(runs: Runs) -> None:
    def newest() -> Verdict:
        with closing(Store.open(runs.project.folder / ".prompt_evaluator/store.db")) as store:
            return store.latest_verdicts([runs.again])[runs.again]

    runs.gate(runs.again, "--baseline", runs.before)
    kept = newest()
    runs.gate(runs.file(runs.again), "--baseline", runs.before)

    assert (kept.verdict, kept.baseline_run_id) == ("pass", runs.before)
    assert newest() == kept, "the verdict on a file is not"


def test_errors_that_could_change_the_verdict_exit_3_with_a_document(runs: Runs, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("guardrails: false\n", encoding="utf-8")

    done = runs.gate(runs.broken, "--baseline", runs.before, "--policy", str(policy), "--json")

    assert done.code == 3
    assert done.json["verdict"] is None
    assert "neither passes nor failures" in done.err


def test_many_more_errors_fail_as_a_guardrail(runs: Runs) -> None:
    done = runs.gate(runs.broken, "--baseline", runs.before, "--json")

    assert done.code == 1
    assert done.json["guardrails"]["errors"]["verdict"] == "fail"


def test_too_little_data_passes_with_a_warning_or_exits_as_wished(tmp_path: Path) -> None:
    project = Workspace(tmp_path)
    project.cases(6)
    for _ in range(2):
        project.evaluate("-n", "2")

    passed, failed, own = (
        project.run("gate", "@last", "--baseline", "@last~1", "--json", *wished)
        for wished in ((), ("--inconclusive", "fail"), ("--inconclusive", "4"))
    )
    assert [done.json["verdict"] for done in (passed, failed, own)] == ["inconclusive"] * 3
    assert [(done.code, done.json["exit_code"]) for done in (passed, failed, own)] == [(0, 0), (1, 1), (4, 4)]
    assert "Warning: not decided" in passed.err
    assert failed.err == own.err == ""


def test_a_run_is_compared_with_the_one_pinned_for_its_dataset(runs: Runs) -> None:
    missing = runs.gate(runs.after)
    assert missing.code == 2
    assert "No run of data is pinned" in missing.err
    runs.project.run("runs", "pin", runs.before)

    found = runs.gate(runs.after, "--json")
    itself = runs.gate(runs.before)

    runs.project.run("runs", "unpin", "data")
    assert found.code == 1
    assert runs.before.startswith(found.json["baseline"])
    assert itself.code == 2
    assert "is the baseline of data itself" in itself.err


def test_other_datasets_exit_3_unless_allowed(runs: Runs, tmp_path: Path) -> None:
    artifact = json.loads((runs.project.folder / runs.file(runs.before)).read_bytes())
    artifact["dataset_hash"] = "sha256:" + "0" * 64
    other = tmp_path / "dataset_evaluation.json"
    other.write_text(json.dumps(artifact), encoding="utf-8")

    refused = runs.gate(runs.again, "--baseline", str(other))
    allowed = runs.gate(runs.again, "--baseline", str(other), "--allow-different")

    assert refused.code == 3
    assert "--allow-different" in refused.err
    assert allowed.code == 0


def test_a_number_that_is_not_one_in_a_foreign_file_is_an_input_error(runs: Runs, tmp_path: Path) -> None:
    text = (runs.project.folder / runs.file(runs.before)).read_text(encoding="utf-8")
    other = tmp_path / "dataset_evaluation.json"
    other.write_text(text.replace('"score": 1.0', '"score": NaN', 1), encoding="utf-8")

    done = runs.gate(runs.again, "--baseline", str(other))

    assert done.code == 2
    assert str(other) in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "There is no baseline"),
        (("--baseline", "nosuchrun"), "no run 'nosuchrun'"),
        (("--baseline", "@last~3", "--policy", "nosuch.yaml"), "nosuch.yaml: file not found"),
        (("--plan", "--baseline", "x"), "RUN alone"),
        (("--pr-comment", "x.md", "--baseline", "@last"), "add --github"),
    ],
)
def test_what_cannot_be_used_exits_2(runs: Runs, arguments: tuple[str, ...], said: str) -> None:
    done = runs.gate(runs.again, *arguments)

    assert done.code == 2
    assert said in done.err


def test_a_mistake_in_the_policy_is_named_with_file_and_line(runs: Runs) -> None:
    path = runs.project.write("wrong.yaml", "level: 0.05\nslice: [topic]\n")

    done = runs.gate(runs.again, "--baseline", runs.before, "--policy", str(path))

    assert done.code == 2
    assert "wrong.yaml:2" in done.err
    assert "Did you mean `slices`" in done.err


def test_the_policys_baseline_is_required(runs: Runs) -> None:
    path = runs.project.write("pinned.yaml", f"baseline: {runs.before}\n")

    assert runs.gate(runs.again, "--policy", str(path)).code == 0
    other = runs.gate(runs.again, "--policy", str(path), "--baseline", runs.after)
    assert other.code == 2
    assert "requires the baseline" in other.err


def test_a_plan_looks_at_one_run(runs: Runs) -> None:
    plan = runs.gate(runs.before, "--plan", "--json")

    assert plan.code == 0
    assert plan.json["metrics"]["regex"]["cases_needed"] == 59
    assert "Cases needed" in runs.gate(runs.before, "--plan").words


def test_junit_has_a_failure_for_a_regression_and_an_error_for_unusable_data(runs: Runs, tmp_path: Path) -> None:
    failed, refused = tmp_path / "failed.junit.xml", tmp_path / "refused.junit.xml"
    policy = tmp_path / "policy.yaml"
    policy.write_text("guardrails: false\n", encoding="utf-8")

    runs.gate(runs.after, "--baseline", runs.before, "--junit", str(failed))
    runs.gate(runs.broken, "--baseline", runs.before, "--policy", str(policy), "--junit", str(refused))

    suite = suite_of(failed)
    assert [each.get("name") for each in suite.iter("testcase") if each.find("failure") is not None] == ["regex"]
    suite = suite_of(refused)
    assert [each.get("name") for each in suite.iter("testcase") if each.find("error") is not None] == ["verdict"]
    assert next(suite.iter("error"), None) is not None


def test_github_gets_a_summary_a_comment_and_an_annotation(runs: Runs, tmp_path: Path) -> None:
    summary, comment = tmp_path / "summary.md", tmp_path / "comment.md"

    done = runs.gate(
        runs.after,
        "--baseline",
        runs.before,
        "--github",
        "--pr-comment",
        str(comment),
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(summary),
    )

    assert done.code == 1
    text = comment.read_text(encoding="utf-8")
    assert text.startswith("<!-- prompt-evaluator: data-gate-")
    assert "[!CAUTION]" in text
    assert "| Metric |" in text
    assert "[!CAUTION]" in summary.read_text(encoding="utf-8")
    assert "::error title=Release gate::Fail" in done.out
