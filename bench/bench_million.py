"""A million cases beside ten thousand: time and memory of the run, and how long a person waits for answers about it.

Every command is a process of its own, from start to exit. Both sizes take turns; a ratio is that of neighbours.
It takes long (twenty minutes and more) and a few gigabytes in the folder for temporary files.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import measure
from bench_peers import one_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peer_figures import Growth

_SMALL = 10_000
_LARGE = int(os.environ.get("BENCH_CASES", "1000000"))
_MEMORY, _TIME, _WAIT = 1.2, 1.3, 3.0
_ROUNDS = 3
_REQUESTS = 20
_PATIENCE = 3 * 60 * 60
"""Seconds after which a run is given up."""
_COMMANDS = {
    "runs show": ["runs", "show", "@last"],
    "a compare": ["compare", "@last~1", "@last"],
    "a report": ["report", "@last", "-o", "report.html"],
}
_PAGES = {"the dashboard's first page": "/", "the page of the run": "/runs/RUN"}
_COMMAND = [sys.executable, "-m", "prompt_evaluator"]


def _runs(folder: Path) -> Iterator[measure.Result]:
    """Two runs of each size, in folders of their own; those of the small size around a large one."""
    made: dict[int, list[Growth]] = {_SMALL: [], _LARGE: []}
    for size in (_SMALL, _LARGE, _SMALL, _LARGE, _SMALL):
        (folder / str(size)).mkdir(exist_ok=True)
        made[size].append(one_size(size, folder / str(size), _PATIENCE))
        print(f"  {made[size][-1]}", file=sys.stderr, flush=True)
    small = statistics.median(row.seconds / row.cases for row in made[_SMALL])
    large = statistics.median(row.seconds / row.cases for row in made[_LARGE])
    sizes = f"{_LARGE:,} cases over that at {_SMALL:,}"
    detail = f"{large * 1e3:.2f} and {small * 1e3:.2f} ms"
    yield measure.Result(f"time per sample at {sizes}", large / small, _TIME, at_most=True, detail=detail)
    small, large = (max(row.megabytes for row in made[size]) for size in (_SMALL, _LARGE))
    detail = f"{large:.0f} and {small:.0f} MB"
    yield measure.Result(f"peak memory at {sizes}", large / small, _MEMORY, at_most=True, detail=detail)
    _remember(made[_LARGE][0])


def _remember(row: Growth) -> None:
    """Add the large run to the growth shown in `docs/benchmarks.md`."""
    import msgspec  # noqa: PLC0415 - not needed to measure
    import peer_figures as figures  # noqa: PLC0415
    from growth_charts import draw  # noqa: PLC0415

    if figures.STORED.exists():
        known = figures.load()
        rows = (*(each for each in known.growth if each.cases != row.cases), row)
        known = msgspec.structs.replace(known, growth=tuple(sorted(rows, key=lambda each: each.cases)))
        figures.store(known)
        draw(known.growth)


def _waits(folder: Path) -> Iterator[measure.Result]:
    for title, arguments in _COMMANDS.items():
        yield _ratio(title, {size: _command(folder / str(size), arguments) for size in (_SMALL, _LARGE)}, _ROUNDS)
    for title, path in _PAGES.items():
        sides = {size: _first_view(folder / str(size), path) for size in (_SMALL, _LARGE)}
        yield _ratio(f"{title} of a server that has just started", sides, _ROUNDS)
    with ExitStack() as stack:
        served = {size: stack.enter_context(_served(folder / str(size))) for size in (_SMALL, _LARGE)}
        for title, path in _PAGES.items():
            sides = {size: _page(*address, path) for size, address in served.items()}
            yield _ratio(title, sides, _REQUESTS)


def _ratio(title: str, sides: dict[int, Callable[[], float]], rounds: int) -> measure.Result:
    for side in sides.values():
        side()  # warm up
    pairs = [(sides[_SMALL](), sides[_LARGE]()) for _ in range(rounds)]
    small, large = (statistics.median(side) for side in zip(*pairs, strict=True))
    name = f"{title}, time at {_LARGE:,} cases over that at {_SMALL:,}"
    value = statistics.median(large / small for small, large in pairs)
    return measure.Result(name, value, _WAIT, at_most=True, detail=f"{large:.3f} and {small:.3f} s")


def _command(folder: Path, arguments: list[str]) -> Callable[[], float]:
    def seconds() -> float:
        began = time.perf_counter()
        subprocess.run([*_COMMAND, *arguments], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began

    return seconds


def _first_view(folder: Path, path: str) -> Callable[[], float]:
    """Without the start of the server."""

    def seconds() -> float:
        with _served(folder) as (address, run_id):
            return _page(address, run_id, path)()

    return seconds


def _page(address: str, run_id: str, path: str) -> Callable[[], float]:
    parts = urlsplit(address)
    path = path.replace("RUN", run_id)

    def seconds() -> float:
        connection = HTTPConnection(parts.hostname or "", parts.port)
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, (path, answer.status)  # noqa: PLR2004
        took = time.perf_counter() - began
        connection.close()
        return took

    return seconds


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a server in this folder, and the id of its last run."""
    listed = subprocess.run(
        [*_COMMAND, "runs", "list", "--json"], check=True, cwd=folder, stdout=subprocess.PIPE, text=True
    ).stdout
    found = re.search(r'"(?:run_)?id": ?"([0-9a-f-]{36})"', listed)
    assert found
    command = [*_COMMAND, "serve", "--port", "0", "--no-worker"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            address = re.search(r" at (http://\S+)\. ", server.stderr.readline())
            assert address
            yield address[1], found[1]
        finally:
            server.terminate()
            server.communicate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        measure.conclude(*_runs(Path(made)), *_waits(Path(made)))
