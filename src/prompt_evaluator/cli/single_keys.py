"""Single keys of a terminal, or of lines where there is none."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import termios
    import tty
except ImportError:  # not on Windows
    _HAS_TERMIOS = False
else:
    _HAS_TERMIOS = True

_MOST = 32
"""Bytes of one key: an arrow sends several."""
_END = "\x04"


class Keys(Protocol):
    """Where keys come from."""

    def key(self) -> str | None:
        """The next key; None at the end."""

    def comment(self) -> str:
        """A line of text."""

    def forget(self) -> None:
        """Drop keys that were pressed before: they were not meant for what is shown next."""


@contextmanager
def single_keys() -> Iterator[Keys]:
    """Keys of the terminal, each without Enter, or of lines of standard input if it is not a terminal."""
    if not (_HAS_TERMIOS and sys.stdin.isatty() and sys.stdout.isatty()):
        yield _Lines()
        return
    keyboard = _Keyboard(sys.stdin.fileno())
    try:
        yield keyboard
    finally:
        keyboard.restore()


class _Keyboard:
    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._before = termios.tcgetattr(terminal)
        self._listen()

    def key(self) -> str | None:
        try:
            read = os.read(self._terminal, _MOST)
        except KeyboardInterrupt:
            return None
        found = read.decode("utf-8", "replace")[:1]
        return None if found in ("", _END) else found

    def comment(self) -> str:
        self.restore()
        try:
            text: str = click.prompt("Comment", default="", show_default=False)
        finally:
            self._listen()
        return text.strip()

    def forget(self) -> None:
        termios.tcflush(self._terminal, termios.TCIFLUSH)

    def restore(self) -> None:
        termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)

    def _listen(self) -> None:
        tty.setcbreak(self._terminal, termios.TCSANOW)


class _Lines:
    """The first character of each line is the key, and the rest a comment."""

    def __init__(self) -> None:
        self._rest = ""

    def key(self) -> str | None:
        line = ""
        while not line:
            read = sys.stdin.readline()
            if not read:
                return None
            line = read.strip()
        self._rest = line[1:].strip()
        return line[0]

    def comment(self) -> str:
        return self._rest

    def forget(self) -> None:
        """Nothing: lines of a file are all meant."""
