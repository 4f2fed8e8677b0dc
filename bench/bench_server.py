"""What readers cost the runs of a server, and whether its pages stay quick however large a run is.

Readers: 100 connections that read lists and results one request after the other, without a pause, while three runs
execute against a service that answers after 50 ms. The same three runs without readers are the reference, in turns.
Pages: one server on a store with a run of 100 samples and one on a store with a run of 100,000, asked in turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import measure
from bench_runs import make_store
from prompt_evaluator.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator


_READERS = 100
_ROUNDS = 3
_CASES, _AT_ONCE = 2_000, 16
_THROUGHPUT = 0.9
_GROWTH = 3.0
_REQUESTS = 40
_RUNS = "/api/v1/benchmarks/runs"
_PAGES = {
    "the list of runs": _RUNS,
    "the page of runs": "/",
    "a run": f"{_RUNS}/RUN",
    "results": f"{_RUNS}/RUN/results",
    "failing results": f"{_RUNS}/RUN/results?failing=true",
    "results by a metric": f"{_RUNS}/RUN/results?sort=clarity",
    "results of a range, worst last": f"{_RUNS}/RUN/results?score={quote('clarity>=4.2')}&sort=-clarity",
    "results with their samples": f"{_RUNS}/RUN/results?samples=true&limit=10",
    "a case": f"{_RUNS}/RUN/cases/case-17",
    "the page of a run": "/runs/RUN",
    "the page of a run, failing cases, worst first": "/runs/RUN?q=failing&sort=clarity",
    "the page of a case": "/runs/RUN/cases/case-10?q=failing",
    "the page of a comparison": "/compare?a=RUN&b=RUN-b",
    "the heat map of a run": "/runs/RUN/slices",
    "the errors of a run": "/runs/RUN/errors",
    "the errors of recent runs": "/errors",
    "the matrix of a comparison": "/compare?a=RUN&b=RUN-b&view=matrix",
    "the leaderboard": "/leaderboard",
    "the trends": "/trends",
    "the page of a dataset": "/datasets/d",
}


@contextmanager
def _served(folder: Path, *options: str, **environment: str) -> Iterator[str]:
    """The address of a server in this folder."""
    command = [sys.executable, "-m", "prompt_evaluator", "serve", "--port", "0", *options]
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            found = re.search(r" at (http://\S+)\. ", server.stderr.readline())
            assert found
            yield found[1]
        finally:
            server.terminate()
            server.communicate()


def _growth(folder: Path) -> Iterator[measure.Result]:
    """How the time of each page grows from the small run to the large one."""
    with ExitStack() as stack:
        clients = {}
        for size in ("small", "large"):
            (folder / size).mkdir()
            make_store(folder / size, [size, f"{size}-b"])
            clients[size] = _Reader(stack.enter_context(_served(folder / size, "--no-worker")))
        for title, path in _PAGES.items():
            times: dict[str, list[float]] = {"small": [], "large": []}
            for at in range(_REQUESTS):
                for size, client in clients.items():
                    took = client.get(path.replace("RUN", size))
                    if at >= _REQUESTS // 4:
                        times[size].append(took)
            small, large = (statistics.median(times[size]) for size in ("small", "large"))
            detail = f"{small * 1e3:.1f} ms, {large * 1e3:.1f} ms"
            name = f"{title}, time at 100,000 samples over that at 100"
            yield measure.Result(name, large / small, _GROWTH, at_most=True, detail=detail)


class _Reader:
    """One connection that is kept."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = HTTPConnection(parts.hostname or "", parts.port)

    def get(self, path: str) -> float:
        began = time.perf_counter()
        try:
            self._connection.request("GET", path)
            answer = self._connection.getresponse()
        except RemoteDisconnected:  # it was idle for too long
            self._connection.close()
            return self.get(path)
        answer.read()
        assert answer.status == 200, (path, answer.status)  # noqa: PLR2004
        return time.perf_counter() - began


def _beside_readers(folder: Path) -> measure.Result:
    """How much of the runs' speed is left with readers."""
    lines = (json.dumps({"id": f"case-{at}", "input": f"Question {at}?", "reference": "yes"}) for at in range(_CASES))
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "big.jsonl").write_text("\n".join(lines), encoding="utf-8")
    chat = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("chat_server.py")), "50"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert chat.stdout is not None
        base = f"http://127.0.0.1:{chat.stdout.readline().strip()}/v1"
        with _served(folder, OPENAI_BASE_URL=base, OPENAI_API_KEY="bench-key-123456") as address:
            _seconds_of_runs(address, 1)  # warm up
            pairs, counts = [], []
            for _ in range(_ROUNDS):
                alone = _seconds_of_runs(address, 3)
                with _readers(address) as found:
                    together = _seconds_of_runs(address, 3)
                counts.append(found)
                pairs.append((alone, together))
    finally:
        chat.kill()
    for count in counts:
        assert not count["errors"], f"{count['errors']} requests failed"
    ratios = [alone / together for alone, together in pairs]
    reads = statistics.median(count["requests"] / together for count, (_, together) in zip(counts, pairs, strict=True))
    detail = (
        f"alone {_median(pairs, 0):.1f} s, together {_median(pairs, 1):.1f} s, "
        f"{reads:.0f} requests a second without an error, rounds {min(ratios):.2f} to {max(ratios):.2f}"
    )
    name = f"speed of three runs beside {_READERS} readers, over that without"
    return measure.Result(name, statistics.median(ratios), _THROUGHPUT, at_most=False, detail=detail)


def _median(pairs: list[tuple[float, float]], side: int) -> float:
    return statistics.median(pair[side] for pair in pairs)


def _seconds_of_runs(address: str, count: int) -> float:
    client = Client(address)
    settings: dict[str, Any] = {
        "dataset": "big",
        "model": "openai/m",
        "metrics": ["exact_match"],
        "max_concurrency": _AT_ONCE,
    }
    began = time.perf_counter()
    runs = [client.start_run(**settings, note=f"{at}").id for at in range(count)]
    for run_id in runs:
        assert client.wait(run_id, every=0.2).status == "completed"
    return time.perf_counter() - began


@contextmanager
def _readers(address: str) -> Iterator[dict[str, int]]:
    """Readers in a process of their own; what they did is known once they have ended."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--read", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, int] = {}
    try:
        yield found
    finally:
        out, _ = process.communicate()
        found |= json.loads(out)


async def _read(address: str) -> None:
    """Read with all connections until standard input ends."""
    parts = urlsplit(address)
    over = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    counts = {"requests": 0, "errors": 0}
    newest = Client(address).runs(limit=1).runs[0].id
    paths = [_RUNS, f"{_RUNS}?status=completed&limit=10", f"{_RUNS}/{newest}", f"{_RUNS}/{newest}/results?limit=20"]

    async def reader(at: int) -> None:
        stream, writer = await asyncio.open_connection(parts.hostname, parts.port)
        while not over.done():
            path = paths[at % len(paths)]
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = await stream.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            assert length
            await stream.readexactly(int(length[1]))
            counts["requests"] += 1
            counts["errors"] += not head.startswith(b"HTTP/1.1 200")
            at += 1
        writer.close()

    await asyncio.gather(*(reader(at) for at in range(_READERS)))
    print(json.dumps(counts))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        asyncio.run(_read(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as made:
            measure.conclude(*_growth(Path(made)), _beside_readers(Path(made) / "runs"))
