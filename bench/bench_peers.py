"""This product beside a bare aiohttp loop and other tools: the same work, each as a whole command, in one table.

usage: bench_peers.py [--quick] [--cases N] [--limit SECONDS] [--minutes N]
Writes `docs/benchmarks.json`, `docs/benchmarks.md` and its pictures. Other tools are measured if `make peers` has
installed them. `--quick` tries every tool with a few cases and writes nothing. On a busy machine, give a command more
seconds, or all of it more minutes.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

import measure  # noqa: F401 - removes proxies from the environment
from bench_datasets import checked_file

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import peer_figures as figures
from peer_figures import Cell, Figures, Growth, ToolFigures
from peer_tools import TOOLS, Tool, Work, write_cases
from whole_command import Ended, run

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVICE = Path(__file__).parent / "peers" / "openai_service.py"
_REPEATS = 5


class Plan(NamedTuple):
    """How much to do."""

    cases: int = 2_000
    few: int = 200
    """For a tool that does not end in time."""
    memory: tuple[int, int] = (1_000, 10_000)
    growth: tuple[int, ...] = (100, 1_000, 10_000, 100_000)
    limit: float = 45.0
    """Seconds of one command."""
    minutes: float = 40.0
    """Of all of it, without the growth; what would begin later is left out."""


_QUICK = Plan(cases=40, few=20, memory=(20, 40), growth=(10, 20))


class Bench:
    """Measures all tools, one after the other for each measure, so that neighbours can be compared."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder, self._plan = folder, plan
        self._until = time.monotonic() + plan.minutes * 60
        self._tools = [tool for tool in TOOLS if tool.is_installed]
        self.cells: dict[str, dict[str, Cell]] = {tool.name: {} for tool in self._tools}

    def measure(self) -> None:
        """What takes long comes last: it is left out if time is up."""
        for tool in self._tools:
            self._put(tool, "size", _size(tool))
            self._put(tool, "start", self._start(tool))
            self._put(tool, "import", self._import(tool))
        for latency in (50, 0):
            with _service(latency) as address:
                for concurrency in (100, 1_000):
                    self._rates(f"rate_{latency}_{concurrency}", "checked", concurrency, address)
                if latency:
                    self._rates("judge", "judged", 100, address)
                else:
                    self._memory(address)

    def _put(self, tool: Tool, key: str, cell: Cell) -> None:
        self.cells[tool.name][key] = cell
        value = figures.NO if cell.value is None else f"{cell.value:,.2f}"
        print(f"  {tool.name}, {key}: {value} {cell.note}", file=sys.stderr, flush=True)

    def _rates(self, key: str, kind: str, concurrency: int, address: str) -> None:
        for tool in self._tools:
            self._put(tool, key, self._rate(tool, Work(kind, self._plan.cases, concurrency, address)))

    def _rate(self, tool: Tool, work: Work) -> Cell:
        note = ""
        for cases in (work.cases, self._plan.few):
            ended, cell = self._run(tool, work._replace(cases=cases))
            if ended is None or (cell.note and ended.code is not None):
                return cell
            if ended.code is not None:
                return Cell(cases / ended.seconds, note)
            note = f"{self._plan.few:,} cases, because more did not end within {self._plan.limit:g} s."
        return Cell(note=f"{self._plan.few:,} cases did not end within {self._plan.limit:g} s.")

    def _memory(self, address: str) -> None:
        for name, cases in zip((1_000, 10_000), self._plan.memory, strict=True):
            for tool in self._tools:
                ended, cell = self._run(tool, Work("checked", cases, 100, address), memory=True)
                if ended is not None and (ended.code is None or not cell.note):
                    note = (
                        f"Stopped after {self._plan.limit:g} s; it may have grown further."
                        if ended.code is None
                        else ""
                    )
                    cell = Cell(ended.megabytes, note)
                self._put(tool, f"memory_{name}", cell)

    def _run(self, tool: Tool, work: Work, *, memory: bool = False) -> tuple[Ended | None, Cell]:
        """How a command ended, or a cell that says why it cannot be counted."""
        if time.monotonic() > self._until:
            return None, self._no_time()
        work = work._replace(folder=Path(tempfile.mkdtemp(dir=self._folder)))
        write_cases(work)
        try:
            if (command := tool.command(work)) is None:
                return None, Cell(note=f"{tool.name} cannot do this.")
            _requests(work.address)
            environment = tool.environment(work)
            ended = run(command, folder=work.folder, environment=environment, limit=self._plan.limit, memory=memory)
            calls = _requests(work.address)
        finally:
            shutil.rmtree(work.folder, ignore_errors=True)
        if ended.code is None:
            return ended, Cell()
        if ended.code or calls < work.calls:
            print(ended.output, file=sys.stderr)
            return ended, Cell(note=f"It failed: exit code {ended.code}, {calls:,} of {work.calls:,} calls.")
        return ended, Cell()

    def _no_time(self) -> Cell:
        return Cell(note=f"Not measured: all of it was to end within {self._plan.minutes:g} minutes.")

    def _start(self, tool: Tool) -> Cell:
        command = tool.start()
        return self._seconds(command) if command else Cell(note="It has no command.")

    def _import(self, tool: Tool) -> Cell:
        if (command := tool.importing()) is None:
            return Cell(note="It has no library for Python.")
        whole = self._seconds(command)
        bare = self._seconds(tool.nothing()) if whole.value is not None else whole
        return whole if whole.value is None or bare.value is None else Cell(max(0.0, whole.value - bare.value))

    def _seconds(self, command: list[str]) -> Cell:
        """The median of some times, after one that fills caches."""
        work = Work("checked", 0, 0, "http://127.0.0.1:9/v1", self._folder)
        environment, seconds = TOOLS[0].environment(work), []
        for _ in range(1 + _REPEATS):
            if time.monotonic() > self._until:
                return self._no_time()
            ended = run(command, folder=work.folder, environment=environment, limit=self._plan.limit)
            if ended.code != 0:
                return Cell(note=f"It failed: exit code {ended.code}.")
            seconds.append(ended.seconds)
        return Cell(statistics.median(seconds[1:]))


@contextmanager
def _service(latency_ms: float) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(_SERVICE), str(latency_ms)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.communicate()


def _requests(address: str) -> int:
    """How many there were since this was asked last."""
    with urlopen(address) as answer:
        return int(json.load(answer)["requests"])


def _size(tool: Tool) -> Cell:
    if (folder := tool.size) is None:
        return Cell(note="Not a tool to install.")
    total = sum(path.lstat().st_blocks * 512 for path in folder.rglob("*") if not path.is_dir())
    return Cell(total / 1e6)


def growth(sizes: tuple[int, ...], folder: Path, limit: float = 10 * 60) -> tuple[Growth, ...]:
    """Our own command with the mock, at these sizes."""
    return tuple(one_size(size, folder, limit) for size in sizes)


def one_size(cases: int, folder: Path, limit: float) -> Growth:
    """One run of our own command in this folder, which it stays in."""
    (folder / "prompt.txt").write_text("You are a helpful assistant.", encoding="utf-8")
    dataset = checked_file(cases)
    command = [str(Path(sys.executable).parent / "prompt-evaluator"), "evaluate-dataset", "-d", str(dataset)]
    command += ["-s", "prompt.txt", "-n", "1", "--rubric", "none", "-o", "runs"]
    ended = run(command, folder=folder, environment=os.environ, limit=limit, memory=True)
    if ended.code != 0:
        raise SystemExit(f"{cases:,} cases: exit code {ended.code}\n{ended.output}")
    return Growth(cases, round(ended.seconds, 3), round(ended.megabytes, 1))


def main(plan: Plan, *, writes: bool) -> None:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as made:
        bench = Bench(Path(made), plan)
        bench.measure()
        grown = growth(plan.growth, Path(made))
    found = Figures(
        date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        machine=f"{_number(os.cpu_count() or 1)} shared cores",
        load=round(load, 1),
        python=platform.python_version(),
        cases=plan.cases,
        tools=tuple(ToolFigures(tool.name, tool.version, _rounded(bench.cells.get(tool.name, {}))) for tool in TOOLS),
        growth=tuple(grown),
    )
    print(figures.text_table(found))
    if writes:
        from growth_charts import draw  # noqa: PLC0415 - only to write

        figures.store(found)
        draw(found.growth)


def _rounded(cells: dict[str, Cell]) -> dict[str, Cell]:
    return {key: Cell(None if cell.value is None else round(cell.value, 3), cell.note) for key, cell in cells.items()}


def _number(count: int) -> str:
    return {1: "one", 2: "two", 4: "four", 8: "eight"}.get(count, str(count))


def _plan(arguments: list[str]) -> tuple[Plan, bool]:
    """The plan, and whether to write what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cases", type=int)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--minutes", type=float)
    given = vars(parser.parse_args(arguments))
    quick = given.pop("quick")
    changed = {name: value for name, value in given.items() if value is not None}
    return (_QUICK if quick else Plan())._replace(**changed), not quick


if __name__ == "__main__":
    chosen, is_kept = _plan(sys.argv[1:])
    main(chosen, writes=is_kept)
