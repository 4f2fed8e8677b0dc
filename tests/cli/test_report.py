"""`prompt-evaluator report`, as an installed command."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from workspace import REAL, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from workspace import Done

BOT = """
def before(question):
    return f"yes, because {question} was asked"

def after(question):
    return "no" if "billing" in question else before(question)

def broken(question):
    raise RuntimeError("the bot is ill")
"""
CASES = [
    {"id": f"{topic}-{at}", "input": f"Question {at} on {topic}?", "reference": "yes", "metadata": {"topic": topic}}
    for topic in ("billing", "orders")
    for at in range(10)
]
METRICS = ("--rubric", "none", "--metrics", "regex(pattern=yes)", "-n", "3")
FORMATS = ("r.html", "r.md", "r.csv", "r.jsonl", "r.json", "r.junit.xml")


class Project:
    """A project with a good run and a worse one."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.folder = workspace, workspace.folder
        self.before, self.after = (
            workspace.evaluate("--generator-model", f"python:bot:{name}", *METRICS).run_id
            for name in ("before", "after")
        )

    def report(self, *arguments: str) -> Done:
        return self.workspace.run("report", *arguments)

    def file(self, run_id: str) -> Path:
        return self.folder / "runs" / run_id / "dataset_evaluation.json"

    def text(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    workspace = Workspace(tmp_path_factory.mktemp("report"))
    workspace.write("bot.py", BOT)
    workspace.cases(CASES)
    return Project(workspace)


@pytest.fixture
def mine(offline: Workspace) -> Workspace:
    offline.write("bot.py", BOT)
    return offline


def test_without_a_file_name_it_writes_a_page_into_this_folder_and_says_so(project: Project) -> None:
    done = project.report("@last")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Wrote report.html (")
    assert project.text("report.html").startswith("<!doctype html>")


def test_every_format_is_written_by_one_command(project: Project) -> None:
    done = project.report(project.after, *(part for name in FORMATS for part in ("-o", name)))

    assert (done.code, done.err) == (0, "")
    assert [line.split()[1] for line in done.out.splitlines()] == list(FORMATS)
    assert project.text("r.md").startswith("# data with python:bot:after")
    assert project.text("r.csv").splitlines()[0].startswith("test_case_id,")
    assert len(project.text("r.jsonl").splitlines()) == 60
    assert len(list(ET.fromstring(project.text("r.junit.xml")).iter("testcase"))) >= 20
    assert json.loads(project.text("r.json"))["failing_cases"] == 10


def test_every_format_of_two_runs_is_written_by_one_command(project: Project) -> None:
    names = ("c.html", "c.md", "c.csv", "c.jsonl", "c.json", "c.junit.xml")

    done = project.report(project.before, project.after, *(part for name in names for part in ("-o", name)))

    assert (done.code, done.err) == (0, "")
    assert "B is worse than A on regex" in project.text("c.md")
    data = json.loads(project.text("c.json"))
    assert data["comparison"]["metrics"]["regex"]["verdict"] == "worse"
    assert data["reproduction"]["candidate"]["facts"]["run_id"] == project.after
    assert "cases" not in data["comparison"]
    assert {each["test_case_id"] for each in data["flipped"]} == {f"billing-{at}" for at in range(10)}


def test_a_file_made_elsewhere_can_be_compared_but_not_reported_on_alone(project: Project) -> None:
    artifact = json.loads(project.file(project.before).read_bytes())
    (project.folder / "foreign.json").write_text(json.dumps({**artifact, "run_id": "f" * 36}), encoding="utf-8")

    alone = project.report("foreign.json", "-o", "alone.html")
    both = project.report("foreign.json", project.after, "-o", "both.html")

    assert (alone.code, both.code) == (2, 0)
    assert "foreign.json: the run of this file is not in the store" in alone.err
    assert not (project.folder / "alone.html").exists()


def test_nothing_is_written_if_one_of_the_files_cannot_be(project: Project) -> None:
    assert project.report("@last", "-o", "first.html", "-o", "second.pdf").code == 2
    assert project.report("nobody", "-o", "first.html").code == 2
    assert not (project.folder / "first.html").exists()


@pytest.mark.parametrize("runs", [(), ("@last", "@last~1", "@last~2")])
def test_it_reports_on_one_run_or_on_two(project: Project, runs: tuple[str, ...]) -> None:
    done = project.report(*runs)

    assert done.code == 2
    assert "Name one run, or two to compare" in done.err


def test_a_run_in_which_every_answer_failed_is_reported_on_with_its_errors(mine: Workspace) -> None:
    mine.evaluate("--generator-model", "python:bot:broken", *METRICS)

    done = mine.run("report", "@last", *(part for name in FORMATS for part in ("-o", name)))

    assert (done.code, done.err) == (0, "")
    data = json.loads((mine.folder / "r.json").read_bytes())
    assert data["findings"]["no_scores"] is not None
    assert data["worst"][0]["answers"][0]["error"]
    assert "the bot is ill" in (mine.folder / "r.html").read_text("utf-8")


def test_a_run_whose_folder_was_deleted_can_still_be_reported_on(mine: Workspace) -> None:
    run_id = mine.evaluate("--generator-model", "python:bot:before", *METRICS).run_id
    shutil.rmtree(mine.folder / "runs")

    assert mine.run("report", run_id).code == 0


def test_no_secret_of_the_run_is_in_any_format(online: Workspace, service: Any) -> None:
    key = online.environment["OPENAI_API_KEY"] = "sk-planted-in-the-environment"
    header = "planted-in-a-header-4711"
    online.configure(
        version=1,
        providers={"openai": {"headers": {"X-Team": "planted-in-a-header-4711"}}},
        generator={"params": {"top_p": 0.5}},
    )
    service.set(rules=[{"text": f"The key is {key} and the header is {header}."}])
    made = online.evaluate(*REAL, *METRICS, "--run-note", f"with {key}", "--tag", f"key={key}")
    assert made.code == 0, made.err

    done = online.run("report", "@last", *(part for name in FORMATS for part in ("-o", name)))

    assert (done.code, done.err) == (0, "")
    for name in FORMATS:
        written = (online.folder / name).read_bytes()
        assert key.encode() not in written, name
        assert header.encode() not in written, name
    assert b"[secret]" in (online.folder / "r.html").read_bytes()
