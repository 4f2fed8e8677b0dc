"""One Ray for all processes of a session of tests: to start one takes seconds, and eleven processes."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

REQUIRED = "PROMPT_EVALUATOR_TEST_RAY"
"""A variable: when it is `required`, a machine without Ray fails the tests instead of skipping them."""
_PROGRAM = Path(__file__).with_name("ray_head_program.py")


class RayHead(NamedTuple):
    """A running Ray."""

    address: str
    token: str
    folder: str
    """Where Ray keeps its logs."""

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to be let in."""
        return {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        }


def need_ray() -> None:
    """Skip the test where Ray is not installed."""
    if importlib.util.find_spec("ray") is not None:
        return
    said = "Ray is not installed: pip install 'ray>=2.40'"
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(f"{said} ({REQUIRED}=required)")
    pytest.skip(said)


def shared_head() -> RayHead:
    """The session's Ray, started by the first process that asks for it. It ends with the session."""
    need_ray()
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    watched = os.getppid() if session else os.getpid()
    place = Path(tempfile.gettempdir()) / f"pe-test-ray-{session or watched}"
    with place.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if not (known := file.read()):
            known = _started(watched, place)
            file.write(known)
    return RayHead(*known.split())


def _started(watched: int, place: Path) -> str:
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(  # not waited for: it ends by itself, after the process that it watches
            [sys.executable, str(_PROGRAM), str(watched), str(place)],
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
        process.returncode = 0  # or Python warns that it is still running
        assert process.stdout is not None
        with process.stdout:
            line = process.stdout.readline()
        errors.seek(0)
        assert line, f"Ray did not start: {errors.read()}"
    return line
