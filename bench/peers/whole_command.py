"""Runs a whole command with a time limit, and finds out how much memory all its processes hold together."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_EVERY = 0.1
"""Seconds between looks at the memory."""


class Ended(NamedTuple):
    """How a command ended."""

    seconds: float
    code: int | None
    """None if the time limit ended it."""
    megabytes: float
    """At the peak; 0 if it was not asked for."""
    output: str
    """The end of what it printed."""


def run(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], limit: float, memory: bool = False
) -> Ended:
    """Run a command from start to exit, in a process group of its own, which is ended with it."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            peak = _wait(process, began + limit, memory=memory)
            seconds = time.perf_counter() - began
        finally:
            _end_group(process)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - 2_000))
        return Ended(
            seconds, process.returncode if peak >= 0 else None, abs(peak), output.read().decode(errors="replace")
        )


def _wait(process: subprocess.Popen[bytes], until: float, *, memory: bool) -> float:
    """The peak of memory, negative if the time was over first."""
    peak = 1e-9
    while time.perf_counter() < until:
        if memory:
            peak = max(peak, tree_megabytes(process.pid))
        try:
            process.wait(_EVERY if memory else max(0.0, until - time.perf_counter()))
        except subprocess.TimeoutExpired:
            continue
        return peak
    return -peak


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def tree_megabytes(root: int) -> float:
    """What a process and all below it hold, with what they share counted once."""
    return sum(map(_megabytes, _tree(root)))


def _tree(root: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def _megabytes(pid: int) -> float:
    try:
        shares = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        return int(shares.partition("\nPss:")[2].split()[0]) / 1024
    except (OSError, IndexError):  # it has ended
        return 0.0
