"""`prompt-evaluator validate`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from prompt_evaluator.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

GOOD = '{"id": "a", "input": "x", "topic": "t"}\n{"id": "b", "input": "y", "topic": ""}\n'


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The real command, in a process of its own."""
    command = [sys.executable, "-m", "prompt_evaluator", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["validate", *map(str, arguments)])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.jsonl"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.yaml"
    path.write_text("- id: 7\n  input: x\n- id: b\n- id: c\n  input: ''\n")
    return path


# The real command


def test_json_is_all_there_is_on_standard_output(good: Path, bad: Path) -> None:
    done = run("validate", "--json", good, bad)

    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (2, "")
    assert [file["ok"] for file in report["files"]] == [True, False]


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.jsonl", b"\xff\xfe\x00"), ("x.yaml", b"[" * 100_000), ("x.csv", b"id,input\n")],
)
def test_bad_input_ends_in_a_sentence_and_not_in_a_traceback(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)

    done = run("validate", tmp_path / name)

    assert done.returncode == 2
    assert "Traceback" not in done.stdout + done.stderr
    assert f"  - {tmp_path / name}" in done.stdout


@pytest.mark.parametrize("option", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path, option: list[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": 1}\n' * 5_000)
    command = [sys.executable, "-m", "prompt_evaluator", "validate", *option, *[str(path)] * 20]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        complaints = process.stderr.read()
        process.wait(timeout=60)

    assert complaints == b""


# What it says


def test_it_shows_dialect_count_hash_and_fields(good: Path) -> None:
    result = invoke(good)

    assert result.exit_code == 0
    assert "  guide dialect, 2 cases\n  sha256 " in result.stdout
    assert "fields: id 2, input 2, topic 1\n" in result.stdout


def test_each_problem_has_file_line_and_advice(bad: Path) -> None:
    result = invoke(bad)

    assert result.exit_code == 2
    problems = [line.removeprefix("  - ") for line in result.stdout.splitlines() if line.startswith("  - ")]
    expected = (
        (1, "Write it in quotes."),
        (3, "Add input, a non-empty text."),
        (5, "Fill in input, or remove the case."),
    )
    assert len(problems) == len(expected)
    for problem, (line, advice) in zip(problems, expected, strict=True):
        assert problem.startswith(f"{bad}:{line}: ")
        assert problem.endswith(advice)


def test_json_has_the_facts_of_a_file(good: Path) -> None:
    (file,) = json.loads(invoke("--json", good).stdout)["files"]

    assert len(file.pop("hash")) == 64
    assert file == {
        "path": str(good),
        "ok": True,
        "format": ".jsonl",
        "dialect": "guide",
        "count": 2,
        "fields": {"id": 2, "input": 2, "topic": 1},
        "problem_count": 0,
        "problems": [],
    }


def test_json_has_the_facts_of_each_problem(bad: Path) -> None:
    report = json.loads(invoke("--json", bad).stdout)

    (file,) = report["files"]
    assert report["ok"] is False
    assert [(p["line"], p["index"], p["field"]) for p in file["problems"]] == [
        (1, 0, "id"),
        (3, 1, "input"),
        (5, 2, "input"),
    ]
    assert all(p["problem"] and p["advice"] and str(bad) in p["message"] for p in file["problems"])


def test_several_files_are_all_surveyed_and_counted(good: Path, bad: Path, tmp_path: Path) -> None:
    result = invoke(bad, good, tmp_path / "missing.jsonl")

    assert result.exit_code == 2
    assert "file not found" in result.stdout
    assert result.stdout.endswith("1 of 3 files can be used.\n")


def test_a_long_list_of_problems_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n" * 1_000)

    text, report = invoke(path).stdout, json.loads(invoke("--json", path).stdout)

    assert text.count("missing required field") == 50
    assert "and 1,950 more; --json lists up to 1,000" in text
    assert report["files"][0]["problem_count"] == 2_000
    assert len(report["files"][0]["problems"]) == 1_000


def test_a_mistyped_command_is_suggested() -> None:
    result = CliRunner().invoke(cli, ["valdate"])

    assert result.exit_code == 2
    assert "Did you mean 'validate'?" in result.stderr
