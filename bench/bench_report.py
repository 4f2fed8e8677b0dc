"""How much memory a report takes, and how large its file is, whatever the size of the run.

Each report is a process of its own, as the command is.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import measure
from bench_compare import add_run

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAMPLES = 5
_SIZES = {"small": 10_000, "large": 100_000}
"""How many samples the runs have."""
_SIDES = ("baseline", "candidate")
_FORMATS = ("html", "md", "json", "xml", "parquet")
_MEMORY_LIMIT = 1.2
_SIZE_LIMIT = 5.0


class Cost(NamedTuple):
    """Of one report."""

    megabytes: float
    """Of memory at its peak."""
    file: float
    """Megabytes of its file."""


def _in_a_process(folder: Path, output: str, *runs: str) -> Cost:
    whole = [sys.executable, __file__, str(folder), output, *runs]
    printed = subprocess.run(whole, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Cost(*map(float, printed.split()))


def _report(folder: Path, output: str, *runs: str) -> Cost:
    import os  # noqa: PLC0415 - as for the command, only what it needs is imported

    from prompt_evaluator.app.report_writing import ReportRequest, report_files, write_reports  # noqa: PLC0415
    from prompt_evaluator.app.settings import read_settings  # noqa: PLC0415

    os.chdir(folder)
    written = write_reports(read_settings(), ReportRequest(runs=runs), report_files([Path(output)]))
    return Cost(_peak_memory(), max(path.stat().st_size for path in written) / 1024**2)


def _peak_memory() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def make_store(folder: Path) -> None:
    """Two runs of each size."""
    from prompt_evaluator.store import Store  # noqa: PLC0415 - the measured processes do not need to make one

    with closing(Store.open(folder / ".prompt_evaluator" / "store.db")) as store:
        for size, samples in _SIZES.items():
            for side in _SIDES:
                add_run(store, f"{size}-{side}", samples // _SAMPLES)


def _memory(folder: Path) -> Iterator[measure.Result]:
    for kind in _FORMATS:
        large, small = (_in_a_process(folder, f"one.{kind}", f"{size}-{_SIDES[0]}") for size in ("large", "small"))
        yield from _results(f"report of a run as {kind}", large, small)
    for kind in ("html", "md"):
        large, small = (
            _in_a_process(folder, f"two.{kind}", *(f"{size}-{side}" for side in _SIDES)) for size in ("large", "small")
        )
        yield from _results(f"report of two runs as {kind}", large, small)


def _results(title: str, large: Cost, small: Cost) -> Iterator[measure.Result]:
    of = f"{_SIZES['large']:,} samples over that at {_SIZES['small']:,}"
    detail = f"{large.megabytes:.0f} and {small.megabytes:.0f} MB"
    ratio = large.megabytes / small.megabytes
    yield measure.Result(f"{title}: peak memory at {of}", ratio, _MEMORY_LIMIT, at_most=True, detail=detail)
    if title.endswith(("html", "md")):
        size = f"{title}: megabytes of the file at {_SIZES['large']:,} samples"
        yield measure.Result(
            size, large.file, _SIZE_LIMIT, at_most=True, detail=f"{small.file:.2f} MB of the small one"
        )


if __name__ == "__main__":
    if arguments := sys.argv[1:]:
        print(*_report(Path(arguments[0]), *arguments[1:]))
    else:
        with tempfile.TemporaryDirectory() as made:
            make_store(Path(made))
            measure.conclude(*_memory(Path(made)))
