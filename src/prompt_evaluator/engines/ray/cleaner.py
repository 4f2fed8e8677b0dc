"""Cleans up after a Ray of our own, even if the process that started it was killed.

Run as a script with two arguments: the folder of the session, and the name of the variable that all its processes have
in their environment, with the folder as its value. It starts to clean up when its standard input is closed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

_ENDS_WITHIN = 3.0
"""Seconds that Ray's processes have to end by themselves."""


def main() -> None:
    """Wait until the starting process is gone, then end what is left of its Ray and delete the session's folder."""
    folder, variable = sys.argv[1:]
    sys.stdin.buffer.read()
    mark = f"{variable}={folder}".encode()
    until = time.monotonic() + _ENDS_WITHIN
    while (left := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    for process in left:
        _kill(process)
    until = time.monotonic() + _ENDS_WITHIN
    while _marked(mark) and time.monotonic() < until:
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


def _marked(mark: bytes) -> list[int]:
    """Processes of the session besides this one; none where the system has no /proc."""
    return [
        int(place.name)
        for place in Path("/proc").glob("[0-9]*")
        if int(place.name) != os.getpid() and mark in _variables(place)
    ]


def _variables(place: Path) -> list[bytes]:
    try:
        return (place / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or belongs to somebody else
        return []


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        return


if __name__ == "__main__":
    main()
