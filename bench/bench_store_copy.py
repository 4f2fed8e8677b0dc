"""How fast runs are copied between a file and a PostgreSQL server, how fast a store is checked, and in what memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bench_runs
import measure
from prompt_evaluator.model import Unit
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.run import UnitKind

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from postgres_server import running_cluster

_SIZES = {"small": 100, "large": 100_000}
_KINDS: tuple[UnitKind, ...] = ("generation", "judgement")
_CHILD = """
import json, resource, sys, time
from pathlib import Path
import prompt_evaluator.store.upkeep
from prompt_evaluator.app.store_check import check_store
from prompt_evaluator.app.store_copy import copy_runs

task, *places = sys.argv[1:]
places = [place if "://" in place else Path(place) for place in places]
start, spent = time.perf_counter(), time.process_time()
if task == "copy":
    rows = sum(run.rows for run in copy_runs(*places, [], say=lambda _: None).runs)
else:
    rows = 1 + check_store(places[0], "", deep=False, say=lambda _: None).runs
seconds, cpu = time.perf_counter() - start, time.process_time() - spent
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
print(json.dumps([rows, seconds, cpu, peak]))
"""


def make_store(folder: Path, name: str) -> Path:
    """A store with a run of this many samples: an answer and a judgement of each, and their results."""
    bench_runs.make_store(folder, [name])
    path = folder / ".prompt_evaluator" / "store.db"
    with closing(Store.open(path)) as store:
        writer = store.writer(name)
        for at in range(_SIZES[name]):
            for kind in _KINDS:
                data = json.dumps({"text": f"{kind} {at} " + "word " * 80}).encode()
                unit: Any = {"case_id": f"case-{at // 5}", "sample": at % 5, "ok": True}
                writer.put(Unit(name=f"{kind} {at}".encode(), kind=kind, data=data, **unit))
        writer.close()
    return path


def measured(task: str, *places: Path | str) -> tuple[int, float, float, float]:
    """Rows, seconds, seconds of CPU and megabytes."""
    command = [sys.executable, "-c", _CHILD, task, *map(str, places)]
    rows, seconds, cpu, peak = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return rows, seconds, cpu, peak


def _results(folder: Path) -> Iterator[measure.Result]:
    peaks: dict[tuple[str, str], float] = {}
    with running_cluster() as cluster:
        for size, samples in _SIZES.items():
            path = make_store(folder / size, size)
            with cluster.database() as database:
                ways: dict[str, tuple[Path | str, Path | str]] = {
                    "file to server": (path, cluster.address(database)),
                    "server to file": (cluster.address(database), folder / size / "back.db"),
                    "file to file": (path, folder / size / "other.db"),
                    "again, all equal": (path, folder / size / "other.db"),
                }
                for way, places in ways.items():
                    rows, seconds, cpu, peak = measured("copy", *places)
                    peaks[way, size] = peak
                    detail = f"{rows:,} rows in {seconds:.1f} s, {cpu:.1f} s of CPU here, peak {peak:.0f} MB"
                    if size == "large":
                        yield measure.Result(
                            f"copy {way}, CPU ms per sample", 1000 * cpu / samples, 0.3, at_most=True, detail=detail
                        )
        for way, peak in ((way, peak) for (way, size), peak in peaks.items() if size == "large"):
            above = peak - peaks[way, "small"]
            yield measure.Result(f"copy {way}, MB above a small run", above, 15, at_most=True, detail=f"{peak:.0f} MB")
        _, seconds, cpu, peak = measured("check", folder / "large" / "other.db")
        yield measure.Result("check, CPU seconds", cpu, 10, at_most=True, detail=f"{seconds:.1f} s, peak {peak:.0f} MB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        measure.conclude(*_results(Path(made)))
