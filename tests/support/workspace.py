"""A folder with a dataset and a prompt, and the command run in it as a process of its own."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import quick_start
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

COMMAND = (sys.executable, "-m", "prompt_evaluator")
REAL = ("--generator-model", "openai/test")
RUN_TIMES = {"run_id", "group_id", "timestamp_start", "timestamp_end", "duration_seconds"}
_SECONDS = 120
SAMPLE_TIMES = {"latency_ms", "tries"}


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What was printed for people, however its lines were broken."""
        return " ".join(self.out.replace("\\\n", " ").split())

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def artifact(self) -> Any:
        """The main artifact of a run that was started with `--json`."""
        with open(self.json["artifact"], encoding="utf-8") as file:  # noqa: PTH123 - a path from JSON
            return json.load(file)

    @property
    def run_id(self) -> str:
        run_id: str = self.json["run_id"]
        return run_id


class Workspace:
    """Where commands run: nothing of the tester's own environment leaks into it."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.environment = {**quick_start.base_environment(), **(environment or {})}
        self._started: list[Started] = []
        self.write("prompt.txt", "Answer in one sentence.\n")
        self.cases(3)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def cases(self, cases: int | Sequence[Mapping[str, Any]], name: str = "data.jsonl") -> Path:
        """Write the dataset: so many plain cases, or these."""
        if isinstance(cases, int):
            cases = [{"id": f"case-{at:03}", "input": f"Question {at:03}?"} for at in range(cases)]
        return self.write(name, "".join(json.dumps(case) + "\n" for case in cases))

    def configure(self, **settings: Any) -> None:
        self.write("prompt_evaluator.yaml", yaml.safe_dump(settings))

    def run(self, *arguments: str, timeout: float = 120, before: Callable[[], None] | None = None) -> Done:
        """Run a command to its end; `before` is called in the child."""
        if before is None and quick_start.can_run(self.environment):
            done = Done(*quick_start.run(arguments, self.folder, self.environment, timeout))
        else:
            done = self.run_in_new_python(*arguments, timeout=timeout, before=before)
        assert "Traceback" not in done.err, done.err
        return done

    def run_in_new_python(
        self, *arguments: str, timeout: float = 120, before: Callable[[], None] | None = None
    ) -> Done:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
            preexec_fn=before,  # sets a limit of the child; these tests start no threads
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def evaluate(self, *arguments: str, **how: Any) -> Done:
        """Evaluate the dataset and answer with JSON."""
        return self.run("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--json", *arguments, **how)

    def start(self, *arguments: str) -> Started:
        started = Started(self, arguments)
        self._started.append(started)
        return started

    def close(self) -> None:
        """End what a failed test has left running."""
        for started in self._started:
            if started.process.returncode is None:
                started.process.kill()
                started.process.communicate(timeout=_SECONDS)

    def start_evaluation(self, *arguments: str) -> Started:
        return self.start("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--json", *arguments)

    def artifact(self, run_id: str, folder: str = "runs") -> Any:
        return json.loads((self.folder / folder / run_id / "dataset_evaluation.json").read_bytes())

    def index(self) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = json.loads((self.folder / "runs/index.json").read_bytes())["runs"]
        return runs

    def units(self, run_id: str) -> dict[tuple[str, bytes], bytes]:
        """What is committed of a run and ok, by case and name."""
        with closing(sqlite3.connect(self.folder / ".prompt_evaluator/store.db", timeout=30)) as store:
            rows = store.execute("SELECT case_id, name, data FROM units WHERE run_id = ? AND ok", (run_id,)).fetchall()
        return {(case_id, bytes(name)): bytes(data) for case_id, name, data in rows}

    def the_run(self) -> str:
        """The id of the only run there is."""
        (path,) = (self.folder / "runs").glob("*/dataset_evaluation.json")
        return path.parent.name


class Started:
    """A command under way."""

    def __init__(self, workspace: Workspace, arguments: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=workspace.folder,
            env=workspace.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self._first = ""

    def is_under_way(self) -> bool:
        """Wait for the line that names the run; there is none when it had ended before."""
        assert self.process.stderr is not None
        with killed_after(self.process, _SECONDS):
            self._first = self.process.stderr.readline()
        return self._first.startswith("Run ")

    def wait_until_under_way(self) -> str:
        """Wait for the line that names the run; answers with its id."""
        assert self.process.stderr is not None
        if not self.is_under_way():
            with killed_after(self.process, _SECONDS):
                raise AssertionError(self._first + self.process.stderr.read())
        return self._first.split()[1].rstrip(":")

    def finish(self, timeout: float = 120) -> Done:
        out, err = self.process.communicate(timeout=timeout)
        assert "Traceback" not in err, err
        return Done(self.process.returncode, out, self._first + err)

    def kill(self) -> Done:
        self.process.kill()
        return self.finish()


@contextmanager
def killed_after(process: subprocess.Popen[Any], seconds: float) -> Iterator[None]:
    """Kill a process that does not say within so many seconds what a test waits for, so that the test fails."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def until(reached: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another process is about to do."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def timeless(artifact: dict[str, Any]) -> dict[str, Any]:
    """An artifact without what differs between two runs of the same plan: times, latencies, tries and ids."""
    cases = [
        {
            **{key: value for key, value in case.items() if key not in RUN_TIMES},
            "samples": [
                {**_untimed(sample), "earlier_attempts": [*map(_untimed, sample["earlier_attempts"])]}
                for sample in case["samples"]
            ],
        }
        for case in artifact["test_case_results"]
    ]
    return {key: value for key, value in artifact.items() if key not in RUN_TIMES} | {"test_case_results": cases}


def _untimed(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key not in SAMPLE_TIMES}
