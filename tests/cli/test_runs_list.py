"""`prompt-evaluator runs list`: conditions, order and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """With three runs: `one` of team search, `two`, and `three` of another dataset."""
    folder: Path = tmp_path_factory.mktemp("runs")
    found = Workspace(folder)
    found.cases(2, "other.jsonl")
    common = ("evaluate-dataset", "-s", "prompt.txt", "--json", "-n", "1")
    found.run(*common, "-d", "data.jsonl", "--run-note", "one", "--tag", "team=search", "--prompt-version", "v1")
    found.run(*common, "-d", "data.jsonl", "--run-note", "two", "--max-calls", "2")
    found.run(
        *common, "-d", "other.jsonl", "--run-note", "three", "--rubric", "none", "--metrics", "length(max_words=3)"
    )
    return found


def listed(project: Workspace, *arguments: str) -> list[str]:
    found: list[dict[str, Any]] = project.run("runs", "list", "--json", *arguments).json["runs"]
    return [run["run_notes"] for run in found]


def test_the_newest_comes_first(project: Workspace) -> None:
    assert listed(project) == ["three", "two", "one"]


@each(
    ("conditions", "notes"),
    [
        (["status=completed"], ["three", "one"]),
        (["status!=completed"], ["two"]),
        (["tag.team=search"], ["one"]),
        (["dataset=data"], ["two", "one"]),
        (["dataset~OTH"], ["three"]),
        (["target=mock/default", "prompt=v1"], ["one"]),
        (["prompt_version_id=v1"], ["one"]),
        (["metric.semantic_fidelity>=1"], ["two", "one"]),
        (["synthetic=true", "num_samples_per_case>=1"], ["three", "two", "one"]),
    ],
    ids=str,
)
def test_conditions_all_have_to_hold(project: Workspace, conditions: list[str], notes: list[str]) -> None:
    flags = [part for text in conditions for part in ("--where", text)]

    assert listed(project, *flags) == notes


def test_a_hash_is_found_as_it_is_shown(project: Workspace) -> None:
    (first, *_) = project.run("runs", "list", "--json", "--where", "run_notes=one").json["runs"]

    assert first["dataset_hash"].startswith("sha256:")
    assert listed(project, "--where", f"dataset_hash={first['dataset_hash']}") == ["two", "one"]


def test_a_list_goes_on_where_a_page_ended(project: Workspace) -> None:
    first = project.run("runs", "list", "--json", "--limit", "2").json
    rest = project.run("runs", "list", "--json", "--limit", "2", "--cursor", first["next"]).json

    assert [run["run_notes"] for run in first["runs"] + rest["runs"]] == ["three", "two", "one"]
    assert rest["next"] is None
    assert project.run("runs", "list", "--limit", "2").out.splitlines()[-1] == (
        "There are more runs: use --limit 10 or --where."
    )


@each(
    ("arguments", "sentence"),
    [
        (["--sort", "-cst"], "There is no field of runs 'cst'. Did you mean 'cost'?"),
        (
            ["--where", "metric.semantic_fidelty>=4"],
            "There is no metric of runs 'metric.semantic_fidelty'. Did you mean 'metric.semantic_fidelity'?",
        ),
        (["--sort", "metric.lenght"], "There is no metric of runs 'metric.lenght'. Did you mean 'metric.length'?"),
        (["--where", "age>3"], "There is no column to compare 'age'. Known: started_at."),
        (["--cursor", "x"], "The cursor 'x' does not belong to this list."),
        (
            ["--limit", "99999999999999999999"],
            "from 1 to 1,000,000, not '99999999999999999999'.",
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(project: Workspace, arguments: list[str], sentence: str) -> None:
    done = project.run("runs", "list", *arguments)

    assert (done.code, done.out) == (2, "")
    assert sentence in done.err


@each(
    ("where", "sentence"),
    [
        ("status=complted", "No run has status=complted. Did you mean status=completed? Values of status: "),
        ("dataset~nothing", "No run has dataset~nothing. Values of dataset: "),
        ("cases>1000", "No run has cases>1000. Values of cases: "),
        ("synthetic=false", "No run has synthetic=false. Values of synthetic: true.\n"),
        ("tag.zzz=1", "There is no tag 'zzz'."),
    ],
)
def test_a_condition_that_no_run_fulfils_says_what_there_is(project: Workspace, where: str, sentence: str) -> None:
    done = project.run("runs", "list", "--where", where)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(sentence)


def test_conditions_that_hold_only_one_by_one_are_not_called_mistyped(project: Workspace) -> None:
    done = project.run("runs", "list", "--where", "run_notes=one", "--where", "run_notes=two")

    assert done.out == "No runs match. `prompt-evaluator runs list` shows all runs.\n"


def test_a_list_that_is_piped_is_plain_and_aligned(project: Workspace) -> None:
    done = project.run("runs", "list")

    header, *runs, footnote = done.out.splitlines()
    assert "\x1b" not in done.out
    assert [run[10:].split()[0] for run in runs] == ["completed", "aborted", "completed"]
    assert len({run.index("mock") for run in runs} | {header.index("Target")}) == 1
    assert footnote.startswith("* synthetic")


def test_a_run_for_programs_has_the_words_of_its_artifact(project: Workspace) -> None:
    (run,) = project.run("runs", "list", "--json", "--where", "run_notes=one").json["runs"]
    artifact = project.artifact(run["run_id"])

    shared = run.keys() & artifact.keys()
    assert {name: run[name] for name in shared} == {name: artifact[name] for name in shared}
    assert shared >= {
        *("run_id", "status", "timestamp_start", "timestamp_end", "dataset_path", "dataset_hash", "dataset_selected"),
        *("num_samples_per_case", "prompt_version_id", "prompt_hash", "run_notes", "tags", "synthetic", "group_id"),
        *("overall_metric_stats", "overall_flag_stats", "totals", "missed_bars", "stop_reason", "parent_run_id"),
    }
