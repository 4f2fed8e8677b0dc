"""How every speed claim of this project is measured.

Wall time on a shared machine varies by a fifth, and medians of separate runs flip a ratio. So both sides live in child
processes that stay up, take turns in short slices, and only the ratio of two neighbouring slices counts; the median of
those ratios is the result. Each measurement prints its value and its limit, and the script exits 1 beyond it.

A side is a function that returns a callable, named `module:function` with any arguments behind further colons; the
callable does one slice of work. It may return the number of seconds to count; otherwise the whole call is timed.
"""

from __future__ import annotations

import importlib
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable

for _name in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[_name]  # servers of measurements are on loopback

_HERE = Path(__file__).parent
ROUNDS = 5


class Result(NamedTuple):
    """One measured value against its limit."""

    name: str
    value: float
    limit: float
    at_most: bool
    detail: str

    @property
    def ok(self) -> bool:
        return self.value <= self.limit if self.at_most else self.value >= self.limit


class Child:
    """One side of a comparison, alive in its own process."""

    def __init__(self, side: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_HERE / "measure.py"), side],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(),
        )
        self._read()  # it says so when it is set up

    def slice(self) -> float:
        """Seconds that one slice of work took."""
        return self._ask("slice")

    def peak_memory(self) -> float:
        """The most megabytes the process has held so far."""
        return self._ask("memory")

    def _ask(self, what: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> float:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a measured process ended early; see above")
        return float(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def ratio(
    name: str, ours: str, reference: str, *, at_most: float | None = None, at_least: float | None = None
) -> Result:
    """The time of `ours` over that of `reference` (at most), or its speed over the reference's speed (at least)."""
    limit = at_most if at_most is not None else at_least
    assert limit is not None
    with Child(ours) as our_side, Child(reference) as their_side:
        our_side.slice(), their_side.slice()  # warm up
        pairs = [(our_side.slice(), their_side.slice()) for _ in range(ROUNDS)]
    ratios = [ours / theirs if at_most is not None else theirs / ours for ours, theirs in pairs]
    our_time, their_time = (statistics.median(side) for side in zip(*pairs, strict=True))
    detail = f"ours {our_time:.3f} s, reference {their_time:.3f} s, rounds {min(ratios):.2f} to {max(ratios):.2f}"
    return Result(name, statistics.median(ratios), limit, at_most is not None, detail)


def seconds_above(name: str, ours: str, reference: str, *, limit: float) -> Result:
    """Seconds that one slice of `ours` takes more than one of `reference`."""
    with Child(ours) as our_side, Child(reference) as their_side:
        our_side.slice(), their_side.slice()  # warm up
        pairs = [(our_side.slice(), their_side.slice()) for _ in range(ROUNDS)]
    above = [ours - theirs for ours, theirs in pairs]
    our_time, their_time = (statistics.median(side) for side in zip(*pairs, strict=True))
    detail = f"ours {our_time:.3f} s, reference {their_time:.3f} s, rounds {min(above):.3f} to {max(above):.3f}"
    return Result(name, statistics.median(above), limit, at_most=True, detail=detail)


def memory_above(name: str, ours: str, *, limit: float) -> Result:
    """Megabytes that one slice of `ours` holds at its peak, above a bare interpreter."""
    with Child(ours) as our_side, Child("measure:nothing") as bare:
        our_side.slice()
        ours_mb, bare_mb = our_side.peak_memory(), bare.peak_memory()
    return Result(name, ours_mb - bare_mb, limit, at_most=True, detail=f"{ours_mb:.0f} MB, bare {bare_mb:.0f} MB")


def nothing() -> Callable[[], None]:
    """The bare interpreter."""
    return lambda: None


def conclude(*results: Result) -> None:
    """Print every result, and exit 1 when one is beyond its limit."""
    for result in results:
        sign = "<=" if result.at_most else ">="
        verdict = "ok" if result.ok else "BEYOND ITS LIMIT"
        print(f"{result.name}: {result.value:.2f} (limit {sign} {result.limit:g}) {verdict}  [{result.detail}]")
    sys.exit(not all(result.ok for result in results))


def _environment() -> dict[str, str]:
    # Without compiled bytecode every import costs several times as much.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(_HERE)}


def _peak_memory() -> float:
    # Not getrusage: its peak includes what the parent held when it forked.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _work(side: str) -> None:
    module, function, *arguments = side.split(":")
    work = getattr(importlib.import_module(module), function)(*arguments)
    out, sys.stdout = sys.stdout, sys.stderr
    print(0, file=out, flush=True)
    for request in sys.stdin:
        if request.strip() == "memory":
            print(_peak_memory(), file=out, flush=True)
            continue
        start = time.perf_counter()
        counted = work()
        elapsed = time.perf_counter() - start
        print(counted if isinstance(counted, float) else elapsed, file=out, flush=True)
    os._exit(0)  # what is measured is over; sessions and loops need no farewell


if __name__ == "__main__":
    _work(sys.argv[1])
