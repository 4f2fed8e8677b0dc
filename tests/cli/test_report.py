"""`prompt-evaluator report`, as an installed command."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import hostile
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

    def data(self, *arguments: str) -> Any:
        assert self.report(*arguments, "-o", "data.json").code == 0
        return json.loads((self.folder / "data.json").read_bytes())

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


def test_the_worst_cases_are_shown_with_input_answer_reference_and_reason(project: Project) -> None:
    data = project.data(project.after)

    worst = data["worst"]
    assert [each["test_case_id"] for each in worst] == [f"billing-{at}" for at in range(10)]
    assert worst[3]["input"] == "Question 3 on billing?"
    assert worst[3]["reference"] == "yes"
    assert worst[3]["line"] == 4
    assert [each["answer"] for each in worst[3]["answers"]] == ["no"] * 3
    assert worst[3]["answers"][0]["scores"] == {"regex": 0.0}
    assert worst[3]["answers"][0]["reasons"]["regex"]


def test_it_says_how_to_run_the_same_again(project: Project) -> None:
    found = project.data(project.after)["reproduction"]

    assert found["command"] == (
        "prompt-evaluator evaluate-dataset --dataset data.jsonl --system-prompt prompt.txt "
        "--generator-model python:bot:after --rubric none --metrics 'regex(pattern=yes)' --num-samples 3"
    )
    assert found["folder"] == str(project.folder)
    assert found["facts"]["dataset_hash"]
    assert found["metrics"]["regex"]["options"] == {"pattern": "yes"}


def test_a_title_can_be_given(project: Project) -> None:
    assert project.data(project.after, "--title", "Friday's run")["title"] == "Friday's run"


def test_a_run_can_be_named_by_its_file_or_folder(project: Project) -> None:
    named = [str(project.file(project.before)), f"runs/{project.before}"]

    assert [project.data(name)["facts"]["run_id"] for name in named] == [project.before] * 2


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


def test_runs_that_cannot_be_compared_are_refused_with_code_3(mine: Workspace) -> None:
    first = mine.evaluate("--generator-model", "python:bot:before", *METRICS).run_id
    mine.cases([{"id": "other", "input": "Something else?"}])
    second = mine.evaluate("--generator-model", "python:bot:before", *METRICS).run_id

    done = mine.run("report", first, second)

    assert done.code == 3
    assert not (mine.folder / "report.html").exists()


def test_a_run_that_stopped_early_is_reported_on_with_a_warning_before_its_numbers(mine: Workspace) -> None:
    mine.evaluate("--generator-model", "python:bot:before", *METRICS, "--max-calls", "3")

    assert mine.run("report", "@last", "-o", "r.md", "-o", "r.html").code == 0
    for name in ("r.md", "r.html"):
        text = (mine.folder / name).read_text("utf-8")
        assert 0 < text.index("Stopped after") < text.index("Metrics</h2>" if name == "r.html" else "## Metrics")


def test_a_run_in_which_every_answer_failed_is_reported_on_with_its_errors(mine: Workspace) -> None:
    mine.evaluate("--generator-model", "python:bot:broken", *METRICS)

    done = mine.run("report", "@last", *(part for name in FORMATS for part in ("-o", name)))

    assert (done.code, done.err) == (0, "")
    data = json.loads((mine.folder / "r.json").read_bytes())
    assert data["findings"]["no_scores"] is not None
    assert data["worst"][0]["answers"][0]["error"]
    assert "the bot is ill" in (mine.folder / "r.html").read_text("utf-8")


def test_a_run_of_one_case_and_one_sample_can_be_reported_on(mine: Workspace) -> None:
    mine.cases(1)
    mine.evaluate("--generator-model", "python:bot:before", "--rubric", "none", "--metrics", "is_json", "-n", "1")

    done = mine.run("report", "@last", *(part for name in FORMATS for part in ("-o", name)))

    assert (done.code, done.err) == (0, "")
    assert json.loads((mine.folder / "r.json").read_bytes())["varying"] == []


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


def test_hostile_texts_are_only_read(mine: Workspace) -> None:
    texts = [*hostile.HTML.values(), *hostile.FORMULAS.values(), *hostile.CHARACTERS.values()]
    mine.write("bot.py", f"TEXTS = {texts!r}\ndef evil(question):\n    return TEXTS[int(question)]\n")
    mine.cases([{"id": f"{at} <script>", "input": str(at), "reference": "<b>"} for at in range(len(texts))])
    metrics = ("--rubric", "none", "--metrics", "regex(pattern=yes)", "-n", "1")
    assert mine.evaluate("--generator-model", "python:bot:evil", *metrics).code == 0

    done = mine.run("report", "@last", *(part for name in FORMATS for part in ("-o", name)), "--title", texts[0])

    assert (done.code, done.err) == (0, "")
    page = (mine.folder / "r.html").read_text("utf-8")
    assert "<script>window" not in page
    assert "\x1b" not in page


def test_a_run_with_a_history_is_shown_over_time_and_against_cost(online: Workspace) -> None:
    online.cases(CASES)
    online.write("priced.yaml", "providers: {openai: {prices: {test: {input: 1, output: 2}}}}\n")
    priced = ("--config", "priced.yaml")
    for _ in range(3):
        online.evaluate(*REAL, "--rubric", "none", "--metrics", "regex(pattern=a)", "-n", "2", *priced)

    assert online.run("report", "@last", "-o", "r.json", *priced).code == 0
    charts = [each["kind"] for each in json.loads((online.folder / "r.json").read_bytes())["charts"]]
    assert charts[-2:] == ["trend", "cost"]


def test_runs_that_cost_nothing_are_not_drawn_against_cost(mine: Workspace) -> None:
    mine.cases(CASES)
    for seed in ("1", "2", "3"):
        mine.evaluate("--generator-model", "mock/default", "-n", "2", "--seed", seed)

    assert mine.run("report", "@last", "-o", "r.json").code == 0
    charts = [each["kind"] for each in json.loads((mine.folder / "r.json").read_bytes())["charts"]]
    assert (charts[-1], "cost" in charts) == ("trend", False)


def test_a_run_without_a_history_has_no_charts_of_one(project: Project) -> None:
    assert not {"trend", "cost"} & {each["kind"] for each in project.data(project.before)["charts"]}
