"""`prompt-evaluator evaluate-single`: one input, N samples."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from workspace import COMMAND, Done, Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def single(project: Workspace, *arguments: str, data: str = "") -> Done:
    done = subprocess.run(
        [*COMMAND, "evaluate-single", "-s", "prompt.txt", *arguments],
        cwd=project.folder,
        env=project.environment,
        input=data,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def test_an_input_is_a_run_of_one_case(project: Workspace) -> None:
    done = single(
        *(project, "What is tea?", "--json", "-n", "3", "--task", "Explain.", "--reference", "A drink."),
        *("--expected-constraints", "One sentence."),
    )

    assert done.code == 0
    (case,) = done.artifact["test_case_results"]
    assert case["test_case_input"] == "What is tea?"
    assert case["test_case_task"] == "Explain."
    assert case["test_case_reference"] == "A drink."
    assert case["test_case_expected_constraints"] == "One sentence."
    assert len(case["samples"]) == 3
    assert done.artifact["dataset_path"] is None
    assert done.artifact["prompt_hash"].startswith("sha256:")


def test_an_input_may_be_piped_in(project: Workspace) -> None:
    done = single(project, "--json", "-n", "1", data="What is tea?\n")

    assert done.artifact["test_case_results"][0]["test_case_input"] == "What is tea?\n"


@pytest.mark.parametrize("data", ["", " \n\t"], ids=["nothing", "blanks"])
def test_an_empty_input_is_wrong_usage(project: Workspace, data: str) -> None:
    done = single(project, data=data)

    assert done.code == 2
    assert "The input is empty. Pass it as an argument, or pipe it in." in done.err
    assert not (project.folder / "runs").exists()


def test_settings_and_short_names_are_used(project: Workspace) -> None:
    project.configure(
        num_samples=2, output_dir="results", rubric="content-quality", prompt_templates={"short": "prompt.txt"}
    )

    done = project.run("evaluate-single", "What is tea?", "-s", "short", "--json", "--metrics", "length")

    assert done.code == 0
    assert done.artifact["num_samples_per_case"] == 2
    assert done.artifact["rubric_metadata"]["rubric_name"] == "content-quality"
    assert done.json["artifact"].startswith(str(project.folder / "results"))


def test_the_summary_is_on_standard_output_and_says_that_it_is_synthetic(project: Workspace) -> None:
    done = single(project, "What is tea?", "-n", "2")

    assert done.code == 0
    assert "semantic_fidelity" in done.out
    assert "SYNTHETIC" in done.out + done.err


def test_a_single_run_is_resumed_without_its_text(project: Workspace) -> None:
    run_id = single(project, "What is tea?", "--json", "-n", "3", "--max-calls", "2").run_id

    done = project.run("resume", run_id, "--json")

    assert done.code == 0
    assert done.artifact["test_case_results"][0]["test_case_input"] == "What is tea?"


def test_two_inputs_are_two_datasets(project: Workspace) -> None:
    hashes = {single(project, text, "--json", "-n", "1").artifact["dataset_hash"] for text in ("one", "two", "one")}

    assert len(hashes) == 2


def test_each_answer_is_shown_with_its_scores(project: Workspace) -> None:
    done = single(project, "What is tea?", "-n", "2")
    samples = project.artifact(project.the_run())["test_case_results"][0]["samples"]

    before, _, after = done.out.partition("\nRun ")
    assert "95 % interval" in after
    for number, sample in enumerate(samples, 1):
        answer = " ".join(sample["generator_output"].split())
        assert answer[:40] in " ".join(before.split())
        score = sample["judge_metrics"]["semantic_fidelity"]["score"]
        assert f"Sample {number}  semantic_fidelity {score:.2f}" in before


def test_what_went_wrong_with_an_answer_or_a_score_is_shown_beside_it(project: Workspace) -> None:
    project.write("checks.py", "def boom(output, case):\n    raise RuntimeError('kaputt')\n")

    done = single(project, "What is tea?", "-n", "2", "--metrics", "python:checks:boom", "-v")

    before, _, after = done.out.partition("\nRun ")
    assert before.count("  error: python:checks:boom: RuntimeError: kaputt\n") == 2
    assert "2 × python:checks:boom: RuntimeError: kaputt\n" in after
    assert "python:checks:boom: RuntimeError: kaputt" in done.err


def test_a_long_answer_is_cut_and_the_command_that_shows_all_of_it_is_named(project: Workspace) -> None:
    project.write("long.py", "def answer(text):\n    return 'word ' * 500 + '\\x1b[2J'\n")

    done = single(
        *(project, "Go.", "-n", "1", "--generator-model", "python/long:answer"),
        *("--rubric", "none", "--metrics", "is_json"),
    )

    before = done.out.partition("\nRun ")[0]
    assert before.startswith("Sample 1  is_json 0.00 (does not pass)\n  word word")
    assert "more lines\n" in before
    assert f"In full: prompt-evaluator runs show {project.the_run()[:8]} --case input\n" in before
    assert "judged by" not in done.out + done.err
    assert "\x1b" not in done.out


def test_for_programs_there_is_json_and_no_answer_before_it(project: Workspace) -> None:
    assert single(project, "What is tea?", "-n", "1", "--json").json["status"] == "completed"
