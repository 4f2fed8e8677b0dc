"""A program as a metric: real programs, good ones and bad ones."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from scoring import answer, case, metric

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Failed, Score, Scored, Secret, Skipped

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def program(code: str, name: str = "scorer.py") -> str:
    """A script that says this, and the metric's name for it."""
    with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - in the working folder
        file.write(f"import json, os, sys, time\nasked = json.load(sys.stdin)\n{code}\n")
    return f"command:{sys.executable} {name}"


async def scored(code: str, **options: Any) -> Score:
    found = await metric(program(code), **options).score(case("tea", topic="drinks"), answer("Green tea."), None)
    assert isinstance(found, (Scored, Skipped, Failed))
    return found


@each(
    ("printed", "expected"),
    [
        ("0.25", Scored(0.25)),
        ("true", Scored(1.0)),
        ("false", Scored(0.0)),
        ('{"score": 0.5, "reason": "half"}', Scored(0.5, "half")),
        ('{"score": 1, "words": 3, "details": {"a": [1]}}', Scored(1.0, "", {"a": [1], "words": 3})),
        ('[0.75, "nearly"]', Scored(0.75, "nearly")),
        ('{"skipped": "not about tea"}', Skipped("not about tea")),
    ],
)
async def test_a_program_prints_its_score(printed: str, expected: Score) -> None:
    assert await scored(f"print({printed!r})") == expected


async def test_a_program_reads_output_case_and_answer() -> None:
    found = await scored("print(json.dumps({'score': 1, 'asked': asked}))")

    assert isinstance(found, Scored)
    asked = found.details["asked"]
    assert asked["output"] == "Green tea."
    assert (asked["case"]["id"], asked["case"]["reference"], asked["case"]["metadata"]) == (
        "a", "tea", {"topic": "drinks"}
    )  # fmt: skip
    assert asked["answer"]["latency_ms"] == 12.0


@each(
    ("code", "kind", "part"),
    [
        ("print(1.5)", "InvalidScore", "not a number from 0 to 1"),
        ("print('null')", "InvalidScore", "not a number from 0 to 1"),
        ("print('good')", "InvalidScore", "did not print JSON"),
        ("pass", "InvalidScore", "did not print JSON"),
        ("print('x' * 5_000_000)", "InvalidScore", "more than 4,194,304 bytes"),
        ("print(1); sys.exit(3)", "ProgramFailed", "failed with exit code 3"),
        ("sys.exit('no model file')", "ProgramFailed", "no model file"),
        ("os.kill(os.getpid(), 9)", "ProgramFailed", "was killed by SIGKILL"),
    ],
)
async def test_anything_that_is_not_a_score_is_a_failure_and_never_a_zero(code: str, kind: str, part: str) -> None:
    found = await scored(code)

    assert isinstance(found, Failed)
    assert found.kind == kind
    assert part in found.reason


async def test_a_program_that_hangs_is_killed_with_its_children_when_its_time_is_up(tmp_path: Path) -> None:
    code = """
import subprocess
child = subprocess.Popen(["sleep", "600"])
open("pid", "w").write(str(child.pid))
time.sleep(600)
"""

    found = await scored(code, timeout=1.5)

    assert isinstance(found, Failed)
    assert (found.kind, found.reason) == ("TimedOut", "timed out: the program did not answer within 1.5 s")
    child = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if _is_gone(child):
            break
        await asyncio.sleep(0.05)
    else:
        pytest.fail("the child is still there")


def _is_gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - no file of ours
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def test_a_secret_that_a_program_prints_is_masked() -> None:
    Secret("canary-0123456789")

    found = await scored("sys.exit('the key is canary-0123456789')")

    assert isinstance(found, Failed)
    assert "canary" not in found.reason


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("command:no-such-program-at-all", "program 'no-such-program-at-all' not found on the PATH"),
        ("command:./missing.sh", "program './missing.sh' not found"),
        ("command:'unclosed", "cannot be parsed"),
        ("command: ", "does not name a program"),
    ],
)
def test_a_program_that_cannot_be_started_is_refused_at_once(name: str, part: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        metric(name)

    assert part in str(caught.value)


def test_an_edited_program_is_another_metric() -> None:
    before = json.dumps(metric(program("print(1)", "one.py")).definition())
    other = json.dumps(metric(program("print(0)", "two.py")).definition())

    assert before.replace("one.py", "two.py") != other


def test_a_time_limit_has_to_be_more_than_nothing() -> None:
    with pytest.raises(ConfigurationError, match="timeout"):
        metric(program("print(1)"), timeout=0)
