"""A run of very many cases has them in one file, a line each, in place of one file a case."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workspace import Workspace, until

from prompt_evaluator.model.outcome import MOST_CASE_FILES, PACK_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from chat_service import ChatService

MANY = MOST_CASE_FILES + 1
REAL = ("--generator-model", "openai/test", "-n", "1", "-j", "16")


def packed(folder: Path) -> list[dict[str, Any]]:
    """Whole lines only: the last one may be half written while the run goes on, or after a kill."""
    path = folder / PACK_FILE
    return [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def test_the_cases_of_a_large_run_are_in_one_file_also_after_a_kill_and_a_resume(
    online: Workspace, service: ChatService
) -> None:
    online.cases(MANY)
    service.set(latency=0.01)
    started = online.start_evaluation(*REAL)
    run_id = started.wait_until_under_way()
    folder = online.folder / "runs" / run_id
    until(lambda: (folder / PACK_FILE).exists() and len(packed(folder)) > 50)
    started.kill()
    killed = {case["test_case_id"] for case in packed(folder)}

    service.set(latency=0)
    done = online.run("resume", run_id, "--json")

    assert done.code == 0
    cases = packed(folder)
    main = {case["test_case_id"]: case for case in done.artifact["test_case_results"]}
    assert len(cases) == len(main) == MANY
    assert {case["test_case_id"]: case for case in cases} == main
    assert main.keys() > killed
    assert sorted(path.name for path in folder.iterdir()) == ["dataset_evaluation.json", PACK_FILE]
    assert PACK_FILE in online.run("runs", "show", run_id).out

    (folder / PACK_FILE).unlink()
    online.run("runs", "rebuild", run_id)
    assert {case["test_case_id"]: case for case in packed(folder)} == main


def test_below_that_each_case_has_its_file(offline: Workspace) -> None:
    done = offline.evaluate("-n", "1")

    names = {path.name for path in (offline.folder / "runs" / done.run_id).iterdir()}
    assert names == {"dataset_evaluation.json", *(f"test_case_case-{at:03}.json" for at in range(3))}
