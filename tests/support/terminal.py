"""A terminal for tests: a command in a pty of some width, and what is on the screen when it has ended."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ROWS = 50
_SECONDS = 120
_PIECE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|(\x1b.)|([\r\n\b\t])|([^\x1b\r\n\b\t]+)")


class Shown(NamedTuple):
    """How a command ended."""

    code: int
    screen: str


def show(command: str, folder: Path, environment: Mapping[str, str], columns: int) -> Shown:
    """Run a line of a shell to its end."""
    master, slave = pty.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env={**environment, "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        written = _read(master, process)
        return Shown(process.wait(_SECONDS), Screen(columns).feed(written.decode()).text)
    finally:
        os.close(master)


def _read(master: int, process: subprocess.Popen[bytes]) -> bytes:
    """Everything until nobody holds the other end any more."""
    written, until = b"", time.monotonic() + _SECONDS
    while True:
        if not select.select([master], [], [], max(0, until - time.monotonic()))[0]:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(_SECONDS)
            raise AssertionError(f"the command does not end: {written.decode(errors='replace')}")
        try:
            data = os.read(master, 65536)
        except OSError:  # how Linux says so
            return written
        if not data:
            return written
        written += data


class Screen:
    """As much of a terminal as our output needs: lines that wrap, a cursor that moves, and erasing. No colours."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._lines: list[list[str]] = [[]]
        """What has scrolled out above is kept. A character is one cell; the second cell of a wide one is empty."""
        self._row = self._column = 0

    @property
    def text(self) -> str:
        return ("\n".join("".join(line).rstrip() for line in self._lines).rstrip() + "\n").lstrip("\n")

    def feed(self, text: str) -> Screen:
        for number, action, _, control, plain in _PIECE.findall(text):
            if action:
                self._act(action, number)
            elif control:
                self._control(control)
            else:
                for character in plain:
                    self._put(character)
        return self

    def _act(self, action: str, number: str) -> None:
        match action:
            case "A":
                self._row = max(0, self._row - int(number or 1))
            case "K":
                line = self._lines[self._row]
                del line[0 if number == "2" else self._column :]
            case "J":
                del self._lines[self._row + 1 :]
                del self._lines[self._row][self._column :]
            case "m" | "h" | "l":  # colours, and whether the cursor is shown
                pass
            case _:
                raise AssertionError(f"what does ESC[{number}{action} do?")

    def _control(self, control: str) -> None:
        if control == "\n":
            self._row += 1
            if self._row == len(self._lines):
                self._lines.append([])
        elif control == "\r":
            self._column = 0
        elif control == "\t":
            self._column = min(self._columns - 1, self._column // 8 * 8 + 8)
        else:
            self._column = max(0, self._column - 1)

    def _put(self, character: str) -> None:
        line = self._lines[self._row]
        if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Cf"}:
            if self._column:
                line[self._column - 1] += character
            return
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if self._column + width > self._columns:
            self._control("\r")
            self._control("\n")
            line = self._lines[self._row]
        line += [" "] * (self._column + width - len(line))
        line[self._column : self._column + width] = [character, ""][:width]
        self._column += width
