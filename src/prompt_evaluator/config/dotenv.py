"""Reads `.env` strictly. Its values are never shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.source import check_text, read_bytes
from prompt_evaluator.usercode.trust import check_found

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE_NAME = ".env"
_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*(?P<value>.*)", re.ASCII)
_SINGLE = re.compile(r"'([^']*)'\s*(?:#.*)?")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_COMMENT = re.compile(r"(?:^|\s+)#.*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}


class Variable(NamedTuple):
    """A value and where it was read."""

    value: str
    path: Path
    line: int


def read_dotenv(folder: Path, environment: Mapping[str, str]) -> dict[str, Variable]:
    """Return the variables of a folder's `.env`; empty if there is no such file.

    Raises:
        InputError: A line is not an assignment, or someone else may have written the file. The message has the line's
            number but not its text, which may contain a key.
    """
    path = folder / FILE_NAME
    if not path.is_file():  # may also be a virtual environment
        return {}
    check_found(path, ".env", instead="Set the variables that you need yourself", environment=environment)
    found: dict[str, Variable] = {}
    for number, line in enumerate(check_text(read_bytes(path), path).decode().split("\n"), start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            name, value = _assignment(text, path, number)
            found[name] = Variable(value, path, number)
    return found


def _assignment(text: str, path: Path, line: int) -> tuple[str, str]:
    if not (found := _LINE.fullmatch(text)):
        raise InputError("A line is not of the form NAME=value", path=path, line=line, advice="Correct or remove it.")
    name, value = found["name"], found["value"]
    quoted = {"'": _SINGLE, '"': _DOUBLE}.get(value[:1])
    if quoted is None:
        return name, _COMMENT.sub("", value)
    if not (inner := quoted.fullmatch(value)):
        what = f"The value of {name} does not end with its closing quote"
        raise InputError(
            what, path=path, line=line, advice=r"Close the quotes on the same line; write \n for a line break."
        )
    if quoted is _SINGLE:
        return name, inner[1]
    return name, _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[0]), inner[1])
