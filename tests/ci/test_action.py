"""The GitHub Action: what can be tried without GitHub."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from composite_action import ROOT, Job
from entries import each
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCRIPTS = {step["name"]: step["run"] for step in STEPS if "run" in step}
BOT = """
def good(question):
    return "yes"

def bad(question):
    return "no ::error::pwned\\n::set-env name=PATH::pwned"
"""
ARGS = "--generator-model python:bot:{} --rubric none --metrics regex(pattern=yes)"
USES_JQ = pytest.mark.skipif(shutil.which("jq") is None, reason="GitHub's command uses jq expressions")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    project = Workspace(tmp_path / "project")
    project.write("bot.py", BOT)
    project.cases(8)
    return Job(project.folder, tmp_path / "job")


def evaluated(job: Job, bot: str, **inputs: str) -> Any:
    prompt = "prompt.txt"
    given = {"dataset": "data.jsonl", "system_prompt": prompt, "samples": "3", "args": ARGS.format(bot), **inputs}
    return job.run(**given)


@each("name", SCRIPTS)
def test_every_script_is_valid_bash(name: str) -> None:
    done = subprocess.run(["bash", "-n"], input=SCRIPTS[name], text=True, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@each("name", SCRIPTS)
def test_no_input_is_written_into_a_script(name: str) -> None:
    assert "${{" not in SCRIPTS[name]


def test_only_actions_of_github_are_used_each_with_a_version() -> None:
    used = [step["uses"] for step in STEPS if "uses" in step]

    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", each) for each in used)


def test_every_input_that_is_used_exists_and_every_one_is_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"inputs\.([a-z-]+)", text))

    assert used == set(ACTION["inputs"])


def test_only_the_dataset_must_be_given() -> None:
    assert [name for name, each in ACTION["inputs"].items() if each.get("required")] == ["dataset"]
    assert all("default" in each for name, each in ACTION["inputs"].items() if name != "dataset")


@USES_JQ
def test_the_first_run_makes_a_comment_and_the_second_replaces_it(job: Job) -> None:
    first = evaluated(job, "good")
    [before] = job.state["comments"]
    second = evaluated(job, "bad")
    [after] = job.state["comments"]

    assert {step.code for step in (*first.values(), *second.values())} == {0}
    assert before["id"] == after["id"]
    assert before["body"].splitlines()[0] == after["body"].splitlines()[0]
    assert before["body"] != after["body"]


@USES_JQ
def test_somebody_elses_comment_with_our_marker_is_left_alone(job: Job) -> None:
    evaluated(job, "good")
    state = job.state
    state["comments"][0]["user"]["login"] = "somebody"
    job.save(state)
    evaluated(job, "good")

    assert [each["user"]["login"] for each in job.state["comments"]] == ["somebody", "github-actions[bot]"]


@USES_JQ
def test_a_drop_is_said_in_the_comment_and_fails_the_job_at_the_end(job: Job) -> None:
    baseline = evaluated(job, "good")["Evaluate"].outputs["run"]
    steps = evaluated(job, "bad", baseline=baseline)

    assert [step.code for step in steps.values()] == [0, 0, 0, 0, 1]
    assert steps["Conclude"].outputs == {"exit-code": "1"}
    assert "> [!CAUTION]" in job.state["comments"][-1]["body"]
    assert "::error file=data.jsonl,line=1,title=" in steps["Report"].out


@USES_JQ
def test_a_drop_does_not_fail_the_job_if_it_is_not_asked_to(job: Job) -> None:
    baseline = evaluated(job, "good")["Evaluate"].outputs["run"]
    steps = evaluated(job, "bad", baseline=baseline, fail_on_regression="false")

    assert steps["Conclude"].code == 0


@USES_JQ
def test_a_missed_bar_fails_the_job_after_the_comment(job: Job) -> None:
    steps = evaluated(job, "bad", args=f"{ARGS.format('bad')} --fail-under regex=0.9")

    assert steps["Conclude"].code == 1
    assert "regex" in job.state["comments"][0]["body"].splitlines()[3]


def test_nothing_a_model_writes_during_the_evaluation_is_a_command(job: Job) -> None:
    lines = evaluated(job, "bad", comment="false")["Evaluate"].out.splitlines()
    [stop] = [at for at, line in enumerate(lines) if line.startswith("::stop-commands::")]
    token = lines[stop].removeprefix("::stop-commands::")

    assert len(token) == 64
    assert lines[-1] == f"::{token}::"
    assert not any(line.startswith("::") for line in lines[:stop])


def test_quoted_options_stay_whole_and_nothing_in_them_is_run(job: Job) -> None:
    note = "it's $(touch pwned) `touch pwned`; touch pwned"
    steps = evaluated(job, "good", comment="false", args=f'{ARGS.format("good")} --tag "why={note}"')

    assert steps["Evaluate"].code == 0, steps["Evaluate"].err
    assert not list(job.folder.glob("**/pwned"))
    [artifact] = job.folder.glob("runs/*/dataset_evaluation.json")
    assert note in artifact.read_text(encoding="utf-8")


@each("name", ["dataset", "system_prompt", "samples", "title", "baseline", "args"])
def test_no_input_is_run_as_a_command(job: Job, name: str) -> None:
    evaluated(job, "good", comment="false", **{name: '"; touch pwned; $(touch pwned) #'})

    assert not list(job.folder.glob("**/pwned"))


def test_a_mistake_ends_the_job_with_its_own_code(job: Job) -> None:
    steps = evaluated(job, "good", comment="false", dataset="nothing.yaml")

    assert steps["Evaluate"].code == 2
    assert "Report" not in steps


@USES_JQ
def test_a_pull_request_from_a_fork_gets_a_warning_instead_of_a_comment(job: Job) -> None:
    job.save(job.state | {"forbidden": True})
    steps = evaluated(job, "good")

    assert steps["Conclude"].code == 0
    assert "::warning title=No comment::" in steps["Comment on the pull request"].out


@USES_JQ
def test_the_baseline_is_the_newest_run_that_the_branch_made_itself(job: Job) -> None:
    run = evaluated(job, "good")["Evaluate"].outputs["run"]
    shutil.copytree(job.folder / run, job.artifact(2) / "run")
    runs = [
        {"databaseId": 3, "event": "pull_request", "branch": "main"},
        {"databaseId": 2, "event": "push", "branch": "main"},
    ]
    job.save(job.state | {"runs": runs})
    steps = evaluated(job, "bad", baseline_branch="main")

    assert steps["Find the baseline"].outputs["path"].endswith("/run/dataset_evaluation.json")
    assert "evaluate.yml" in next(call for call in job.state["calls"] if call[:2] == ["run", "list"])
    assert steps["Conclude"].code == 1


@USES_JQ
@pytest.mark.parametrize("runs", [[], [{"databaseId": 9, "event": "push", "branch": "main"}]])
def test_without_an_earlier_run_nothing_is_compared(job: Job, runs: list[Any]) -> None:
    job.save(job.state | {"runs": runs})
    steps = evaluated(job, "good", baseline_branch="main")

    assert "nothing is compared" in steps["Find the baseline"].out
    assert steps["Conclude"].code == 0
