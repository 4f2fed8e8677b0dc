"""`make` sets up its environment with uv where that works, and with venv and pip everywhere else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
_PYTHON = """#!/bin/sh
echo "python $*" >> {log}
[ "$1 $2" = "-m venv" ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
[ "$1" = -c ] || exit {code}
"""
_UV = """#!/bin/sh
echo "uv $*" >> {log}
[ "$1" = venv ] && mkdir -p .venv/bin && exit {code}
[ {code} = 0 ] || echo "error: no such package" >&2
exit {code}
"""


class SetUp(NamedTuple):
    """What became of `make .venv/.ready`."""

    code: int
    out: str
    called: list[str]
    ready: bool


def set_up(folder: Path, *, uv: int | None, python: int = 0) -> SetUp:
    """Run it with programs that only note what they are asked, and exit with these codes; None: there is no uv."""
    shutil.copyfile(ROOT / "Makefile", folder / "Makefile")
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).touch()
    programs, log = folder / "programs", folder / "log"
    programs.mkdir()
    for name, text, code in (("uv", _UV, uv), ("python3", _PYTHON, python)):
        if code is not None:
            (programs / name).write_text(text.format(log=log, code=code), encoding="utf-8")
            (programs / name).chmod(0o755)
    done = subprocess.run(
        ["make", ".venv/.ready", f"PYTHON={programs / 'python3'}"],
        cwd=folder,
        env={"PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    called = log.read_text(encoding="utf-8").splitlines()
    return SetUp(done.returncode, done.stdout + done.stderr, called, (folder / ".venv/.ready").exists())


PINNED = "--constraint constraints.txt --build-constraint constraints.txt"
INSTALLED = f"python -m pip install --quiet --disable-pip-version-check {PINNED} -e ."
COMPILED = "python -m compileall -q src"


def test_uv_alone_is_used_where_it_works(tmp_path: Path) -> None:
    done = set_up(tmp_path, uv=0)

    assert (done.code, done.ready) == (0, True)
    assert [call.split()[0] for call in done.called[:-1]] == ["uv", "uv"]
    assert done.called[-1] == COMPILED


def test_where_uv_fails_venv_and_pip_do_it(tmp_path: Path) -> None:
    done = set_up(tmp_path, uv=2)

    assert (done.code, done.ready) == (0, True), done.out
    assert "uv failed; trying venv and pip" in done.out
    assert "python -m venv .venv" in done.called
    assert done.called[-2:] == [INSTALLED, COMPILED]


@pytest.mark.skipif(shutil.which("uv", path="/usr/bin:/bin") is not None, reason="there is a uv of the system")
def test_without_uv_venv_and_pip_do_it(tmp_path: Path) -> None:
    done = set_up(tmp_path, uv=None)

    assert (done.code, done.ready) == (0, True), done.out
    assert done.called[-2:] == [INSTALLED, COMPILED]


def test_where_both_fail_nothing_is_taken_to_be_ready(tmp_path: Path) -> None:
    done = set_up(tmp_path, uv=2, python=1)

    assert done.code != 0
    assert not done.ready
