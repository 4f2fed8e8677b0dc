"""The README as a new user follows it: from a fresh copy, line by line, in a terminal of 80 and of 160 columns.

`UPDATE_SNAPSHOTS=1 pytest tests/e2e/test_transcript.py` takes the screens as they are now; look at the difference.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from doc_pages import ROOT, blocks
from terminal import Screen, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chat_service import ChatService

SNAPSHOTS = Path(__file__).parent / "snapshots"
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_SHORT_ID = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8}\b")
_PACE = re.compile(r" in \d+:\d\d(?: · [\d.,]+/s)?")
_LATENCY = re.compile(r"\b[\d,]+ ms\b")
_LATENCIES = re.compile(r"^(Latency +).* per answer.*$", re.MULTILINE)
_DATE = re.compile(r" on \d{4}-\d\d-\d\d$", re.MULTILINE)
_FILE_SIZE = re.compile(r"\b\d+ kB\b")
_AGE = re.compile(r"\b(?:\d+ (?:s|min)|now)$")
_WITH_AGE = re.compile(rf"^Run  .*\bAge$|^<run-id>  .*{_AGE.pattern}", re.MULTILINE)


@pytest.fixture
def clone() -> Iterator[Path]:
    """The tracked files in a new folder, whose name is as long every time: paths are shown, and lines are wrapped."""
    with TemporaryDirectory(prefix="clone-", dir="/tmp") as folder:
        for name in _tracked():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, Path(folder) / name)
        yield Path(folder)


def _tracked() -> list[str]:
    """Files of the repository; if this is a copy without one, all files that are not hidden."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        names = listed.decode().split("\0")
    else:
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*"))
        names = [str(path) for path in found if not any(part.startswith(".") for part in path.parts)]
    return [name for name in names if name and (ROOT / name).is_file()]


@pytest.fixture
def environment(clone: Path, service: ChatService) -> dict[str, str]:
    """The command is installed already: `pip` has nothing to do, and `make` finds its environment set up."""
    programs = clone / ".programs"
    programs.mkdir()
    (programs / "pip").symlink_to("/bin/true")
    (clone / ".venv").mkdir()
    (clone / ".venv/bin").symlink_to(Path(sys.prefix) / "bin")
    (clone / ".venv/.ready").touch()
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    path = f"{programs}:{Path(sys.prefix) / 'bin'}:/usr/bin:/bin"
    return {**kept, **service.environment, "PATH": path, "PYTHONUTF8": "1"}


_GOES_ON = "prompt-evaluator serve"
"""It would not end; the page on the HTTP API is tested with it."""


def transcript(folder: Path, environment: dict[str, str], columns: int) -> Iterator[str]:
    """Each line of the README's command blocks, and the screen when it has ended."""
    where = folder
    for block in blocks(folder / "README.md"):
        for command in block.commands if block.kind == "bash" else []:
            if command.startswith("cd "):
                where = where / command.removeprefix("cd ")
                yield f"$ {command}\n"
                continue
            if command.startswith(_GOES_ON):
                yield f"$ {command}\n"
                continue
            typed = command.replace(" RUN", f" {_last_run(where)}") if " RUN" in command else command
            shown = show(typed, where, environment, columns)
            assert shown.code in {0, 1}, shown.screen
            ended = f"[exit code {shown.code}]\n" if shown.code else ""
            yield f"$ {command}\n{_timeless(shown.screen, folder)}{ended}"


def _last_run(where: Path) -> str:
    runs = sorted(where.glob("runs/*/dataset_evaluation.json"), key=lambda path: path.stat().st_mtime)
    return runs[-1].parent.name


def _timeless(screen: str, folder: Path) -> str:
    """A screen without ids, times, and widths that follow from an age."""
    text = _SHORT_ID.sub("<run-id>", _UUID.sub("<run-id>", screen)).replace(str(folder), "<clone>")
    text = _LATENCY.sub("<n> ms", _LATENCIES.sub(r"\1<n> ms per answer", _PACE.sub(" in <time>", text)))
    text = _FILE_SIZE.sub("<n> kB", _DATE.sub(" on <date>", text))
    return _WITH_AGE.sub(lambda row: _AGE.sub("<age>", re.sub(r" {2,}", "  ", re.sub(r"\S*…\S*", "…", row[0]))), text)


@pytest.mark.parametrize("columns", [80, 160])
def test_the_readme_works_line_by_line_in_a_terminal(clone: Path, environment: dict[str, str], columns: int) -> None:
    snapshot = SNAPSHOTS / f"readme-{columns}.txt"

    text = "\n".join(transcript(clone, environment, columns))

    assert max(map(len, text.splitlines())) <= max(columns, *(len(line) for line in _commands(text)))
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        snapshot.write_text(text, encoding="utf-8")
    assert text == snapshot.read_text(encoding="utf-8")


def _commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("$ ")]


def test_a_screen_shows_what_is_left_when_lines_are_drawn_over() -> None:
    screen = Screen(10).feed("one\r\ntwo\r\n\x1b[2A\x1b[2K\x1b[31mnew\x1b[0m\r\n\x1b[Jend ⚠️ 日本 12")

    assert screen.text == "new\nend ⚠️ 日本\n 12\n"
