"""How long a person waits for `prompt-evaluator --help`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import measure

if TYPE_CHECKING:
    from collections.abc import Callable

_REPEATS = 5


def our_help() -> Callable[[], object]:
    command = [str(Path(sys.executable).parent / "prompt-evaluator"), "--help"]
    return lambda: [subprocess.run(command, check=True, stdout=subprocess.DEVNULL) for _ in range(_REPEATS)]


def import_click() -> Callable[[], object]:
    command = [sys.executable, "-c", "import click"]
    return lambda: [subprocess.run(command, check=True) for _ in range(_REPEATS)]


if __name__ == "__main__":
    measure.conclude(
        measure.ratio(
            "--help, time over `import click`", "bench_startup:our_help", "bench_startup:import_click", at_most=3
        )
    )
