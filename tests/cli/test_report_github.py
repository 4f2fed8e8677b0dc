"""`prompt-evaluator report --github`, as GitHub starts it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from workspace import Done

BOT = """
def before(question):
    return f"yes, because {question} was asked"

def after(question):
    return "::error::pwned\\n##[error]pwned <script>" if "billing" in question else before(question)
"""
CASES = [
    {"id": f"{topic}-{at}", "input": f"Question {at} on {topic}?"} for topic in ("billing", "orders") for at in range(8)
]
METRICS = ("--rubric", "none", "--metrics", "regex(pattern=yes)", "-n", "5")


class Runs:
    """A baseline, and a run that is worse."""

    def __init__(self, project: Workspace) -> None:
        self.project = project
        self.before, self.after = (
            project.evaluate("--generator-model", f"python:bot:{name}", *METRICS).run_id for name in ("before", "after")
        )

    @property
    def summary(self) -> Path:
        return self.project.folder / "summary.md"

    @property
    def comment(self) -> str:
        return (self.project.folder / "pr-comment.md").read_text(encoding="utf-8")

    def report(self, *arguments: str, github: bool = True) -> Done:
        self.summary.unlink(missing_ok=True)
        known = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_WORKSPACE": str(self.project.folder.parent),
            "GITHUB_SERVER_URL": "https://github.test",
            "GITHUB_REPOSITORY": "acme/bot",
            "GITHUB_RUN_ID": "7",
        }
        return Workspace(self.project.folder, known if github else {}).run("report", *arguments, "--github")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    project = Workspace(tmp_path_factory.mktemp("github"))
    project.write("bot.py", BOT)
    project.cases(CASES)
    return Runs(project)


def test_a_comparison_gives_summary_annotations_and_comment(runs: Runs) -> None:
    done = runs.report(runs.before, runs.after)

    assert done.code == 0, done.err
    assert runs.comment.startswith("<!-- prompt-evaluator: ")
    assert "> [!CAUTION]" in runs.comment
    assert "> [!CAUTION]" in runs.summary.read_text(encoding="utf-8")
    errors = [line for line in done.out.splitlines() if line.startswith("::error ")]
    assert len(errors) == 8


def test_the_comment_leads_to_the_job_and_has_no_folder_of_the_machine(runs: Runs) -> None:
    folder = runs.project.folder
    artifact = json.loads((folder / "runs" / runs.before / "dataset_evaluation.json").read_bytes())
    baseline = folder.parent / "downloaded" / "dataset_evaluation.json"
    baseline.parent.mkdir(exist_ok=True)
    baseline.write_text(json.dumps({**artifact, "status": "partial"}), encoding="utf-8")

    assert runs.report(str(baseline), runs.after).code == 0

    summary = runs.summary.read_text(encoding="utf-8")
    assert "](https://github.test/acme/bot/actions/runs/7)" in runs.comment
    for text in (runs.comment, summary):
        assert "dataset&#95;evaluation.json" in text or "dataset_evaluation.json" in text
        assert folder.parent.name not in text


def test_annotations_name_the_line_of_the_case_in_the_repository(runs: Runs) -> None:
    at = [case["id"] for case in CASES].index("billing-3") + 1
    done = runs.report(runs.before, runs.after)

    place = f"::error file={runs.project.folder.name}/data.jsonl,line={at},title=billing-3 got worse::"
    assert any(line.startswith(place) for line in done.out.splitlines())


def test_the_summary_is_added_to_what_other_steps_of_the_job_wrote(runs: Runs) -> None:
    runs.report(runs.after)
    first = runs.summary.read_text(encoding="utf-8")
    runs.summary.write_text("before\n\n", encoding="utf-8")
    known = {"GITHUB_STEP_SUMMARY": str(runs.summary), "GITHUB_ACTIONS": "true"}
    Workspace(runs.project.folder, known).run("report", runs.after, "--github")

    assert runs.summary.read_text(encoding="utf-8").startswith("before\n\n> [!")
    assert len(runs.summary.read_text(encoding="utf-8")) >= len(first)


def test_outside_github_it_writes_the_comment_and_says_what_it_left_out(runs: Runs) -> None:
    (runs.project.folder / "pr-comment.md").unlink(missing_ok=True)
    done = runs.report(runs.after, github=False)

    assert done.code == 0
    assert "::" not in done.out
    assert "Wrote pr-comment.md." in done.out
    assert "GITHUB_STEP_SUMMARY is not set" in done.out
    assert "GITHUB_ACTIONS is not set" in done.out
    assert runs.comment


def test_only_named_reports_are_written_beside_the_comment(runs: Runs) -> None:
    runs.report(runs.after)
    assert not (runs.project.folder / "report.html").exists()

    assert runs.report(runs.after, "-o", "other.md", "--pr-comment", "out/comment.md").code == 0
    assert (runs.project.folder / "other.md").exists()
    assert (runs.project.folder / "out" / "comment.md").exists()


def test_a_refused_comparison_leaves_a_comment_that_says_so(runs: Runs) -> None:
    runs.project.cases([*CASES[:5], {"id": "new", "input": "billing?"}], name="other.jsonl")
    options = ("-d", "other.jsonl", "-s", "prompt.txt", "--json", "--generator-model", "python:bot:after", *METRICS)
    other = runs.project.run("evaluate-dataset", *options).run_id
    done = runs.report(runs.before, other)

    assert done.code == 3
    assert "the runs were not compared, so there is no verdict" in runs.comment
    assert any(line.startswith("::error title=The runs were not compared::") for line in done.out.splitlines())
    assert "no verdict" in runs.summary.read_text(encoding="utf-8")


def test_a_path_for_the_comment_without_github_is_a_mistake(runs: Runs) -> None:
    done = runs.project.run("report", runs.after, "--pr-comment", "x.md")

    assert done.code == 2
    assert "add --github" in done.err


def test_the_comment_and_a_report_cannot_be_one_file(runs: Runs) -> None:
    done = runs.report(runs.after, "-o", "same.md", "--pr-comment", "./same.md")

    assert done.code == 2
    assert "same.md would be the comment and a report: give one of them another name." in " ".join(done.err.split())
