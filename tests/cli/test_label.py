"""`label` in a terminal and without one: one key per answer, and nothing is lost."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from seeded_site import large_run, settings_of
from workspace import Workspace

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "prompt_evaluator", "label", "large", "--reviewer", "anna"]
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = Workspace(tmp_path_factory.mktemp("label"))
    workspace.configure()
    with closing(open_store(settings_of(workspace.folder))) as store:
        large_run(store, 40, samples=2)
    return workspace.folder


class Terminal:
    """The command in a terminal, to which keys are sent one by one."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *options], cwd=folder, env=_environment(folder), stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.screen = ""
        self._from = 0

    def until(self, text: str) -> str:
        """Read on until a text appears after what was read before."""
        while text not in self.screen[self._from :]:
            assert select.select([self._master], [], [], 30)[0], self.screen[self._from :]
            self.screen += _COLOUR.sub("", os.read(self._master, 65536).decode("utf-8", "replace"))
        self._from = self.screen.index(text, self._from) + len(text)
        return self.screen

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


def _environment(folder: Path) -> dict[str, str]:
    return {**Workspace(folder).environment, "TERM": "xterm", "COLUMNS": "100"}


def exported(folder: Path) -> list[dict[str, object]]:
    done = Workspace(folder).run("labels", "export", "large")
    return [json.loads(line) for line in done.out.splitlines()]


def test_answers_are_labelled_by_single_keys_of_a_terminal(folder: Path) -> None:
    terminal = Terminal(folder, "--count", "7")
    try:
        for number, key in enumerate("354"):
            terminal.until(f"{number} of 7 · case-")
            terminal.until("[q] quit")
            assert "judge" not in terminal.screen.rpartition("sample ")[2].replace("[o] show the judge", "")
            terminal.press(key)
        terminal.until("3 of 7 · ")
        terminal.press("u")
        terminal.until("took back the last label")
        terminal.until("2 of 7 · ")
        terminal.until("[q] quit")
        terminal.press("c")
        terminal.until("Comment")
        terminal.press("too long ☕\n")
        terminal.until("goes with your label: too long ☕")
        terminal.press("2")
        terminal.until("labelled 2")
        terminal.until("3 of 7 · ")
        terminal.press("s")
        terminal.until("skipped")
        terminal.until("[q] quit")
        terminal.press("q")
        terminal.until("3 of 7 labelled; 4 samples left.")
        terminal.until("people and the judge are on the same side of the pass mark")
        terminal.until("labels export large -o labels.csv")
        assert terminal.process.wait(60) == 0
    finally:
        terminal.close()

    given = exported(folder)
    assert [(line["value"], line["withdrawn"]) for line in given] == [
        (3.0, False),
        (5.0, False),
        (4.0, False),
        (4.0, True),
        (2.0, False),
    ]
    assert [line["judge_seen"] for line in given] == [False, False, False, False, True]
    assert given[-1]["comment"] == "too long ☕"
    assert {(line["reviewer"], line["probability"]) for line in given} == {("anna", 7 / 79)}


def test_50_labels_in_a_terminal_survive_a_kill_in_the_middle(folder: Path) -> None:
    before = len(exported(folder))
    confirmed = 0
    for stop in (25, 50):
        terminal = Terminal(folder, "--count", "50", "--metric", "rude")
        try:
            while confirmed < stop:
                terminal.until("[q] quit")
                terminal.press("yn"[confirmed % 2])
                terminal.until("labelled ")
                confirmed += 1
        finally:
            terminal.process.kill()
            terminal.close()

    given = exported(folder)[before:]
    assert len(given) == 50
    assert len({(line["test_case_id"], line["sample_id"]) for line in given}) == 50


def test_without_a_terminal_keys_are_lines(folder: Path) -> None:
    keys = "5\nc fine\no\n1\nu\n2\nx\n"
    done = subprocess.run(
        [*COMMAND, "--reviewer", "ben", "--draw", "uncertain", "--count", "3", "--show-judge"],
        cwd=folder,
        env=_environment(folder),
        input=keys,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "2 of 3 labelled; 1 sample left." in done.stdout
    assert "\x1b" not in done.stdout
    assert [line["value"] for line in exported(folder)[-4:]] == [5.0, 1.0, 1.0, 2.0]
    assert [line["judge_seen"] for line in exported(folder)[-4:]] == [True] * 4
