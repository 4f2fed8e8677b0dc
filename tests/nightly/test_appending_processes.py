"""Several processes add runs at once, and some are killed: nothing is lost, and every read is of a whole file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from random import Random
from typing import TYPE_CHECKING

from harness_runs import harness_run

from prompt_evaluator.harness.history import read_history
from prompt_evaluator.harness.results import add_run

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = 20
ROUNDS = 20
KILLS = 80
FILES = ("history", "latest", "leaderboard", "trends")
APPEND = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from harness_runs import evaluation, harness_run
from prompt_evaluator.harness.results import add_run
folder, name, rounds, tasks = Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
print("ready", flush=True)
sys.stdin.readline()
for at in range(rounds):
    add_run(folder, harness_run(f"{name}-{at}", evaluations=tuple(evaluation(task_id=str(n)) for n in range(tasks))))
    print(at, flush=True)
"""
SUPPORT = os.path.dirname(sys.modules[harness_run.__module__].__file__ or "")  # noqa: PTH120 - a path for a program


def start(folder: Path, name: str, rounds: int, tasks: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", APPEND, SUPPORT, str(folder), name, str(rounds), str(tasks)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def close(process: subprocess.Popen[str]) -> int:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    return process.wait(timeout=60)


def read_all(folder: Path) -> int:
    """Parse every file there is; return how many runs the history has."""
    for name in FILES:
        if (folder / f"{name}.json").exists():
            json.loads((folder / f"{name}.json").read_bytes())
    return len(read_history(folder))


def test_twenty_processes_that_append_at_once_lose_nothing_and_every_read_parses(tmp_path: Path) -> None:
    processes = [start(tmp_path, f"process-{number}", ROUNDS) for number in range(PROCESSES)]
    for process in processes:
        assert told(process) == "ready\n"
    for process in processes:
        go(process)
    seen = [0]
    while any(process.poll() is None for process in processes):
        seen.append(read_all(tmp_path))
        time.sleep(0.005)

    assert [close(process) for process in processes] == [0] * PROCESSES
    wanted = {f"process-{number}-{at}" for number in range(PROCESSES) for at in range(ROUNDS)}
    ids = [head.run_id for head in read_history(tmp_path).heads()]
    assert len(ids) == PROCESSES * ROUNDS
    assert set(ids) == wanted
    assert seen == sorted(seen), "the history only grows"
    trends = json.loads((tmp_path / "trends.json").read_bytes())
    assert [point["runId"] for point in trends["a"]] == ids
    assert json.loads((tmp_path / "latest.json").read_bytes())["runId"] == ids[-1]
    for number in range(PROCESSES):  # each process's own runs are in its order
        mine = [each for each in ids if each.startswith(f"process-{number}-")]
        assert mine == [f"process-{number}-{at}" for at in range(ROUNDS)]


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_history(tmp_path: Path) -> None:
    rng = Random(16)
    for kill in range(KILLS):
        before = (tmp_path / "history.json").read_bytes() if kill else b""
        count = read_all(tmp_path)
        process = start(tmp_path, f"killed-{kill}", rounds=1_000, tasks=200)
        assert told(process) == "ready\n"
        go(process)
        if kill % 2:  # otherwise probably during the first run
            told(process)
        time.sleep(rng.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        assert process.stdout is not None
        reported = len(process.stdout.read().split()) + kill % 2
        close(process)

        after = read_all(tmp_path)

        assert count + reported <= after <= count + reported + 1
        assert (tmp_path / "history.json").exists() is (after > 0)
        if before:
            assert (tmp_path / "history.json").read_bytes().startswith(before.rstrip(b"]\n"))
        add_run(tmp_path, harness_run(f"next-{kill}"))  # the lock is free, and leftovers do not matter
        assert read_all(tmp_path) == after + 1
