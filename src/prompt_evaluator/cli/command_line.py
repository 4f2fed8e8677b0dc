"""The command line as typed, and how to start this program again."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.cli.lazy import TYPED
from prompt_evaluator.cli.settings_options import without_password
from prompt_evaluator.model import CommandLine

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "prompt-evaluator"
_ONLY_THIS_TIME = {"as_json", "verbose", "log_file", "estimate", "resume", "retry_errors", "show"}
"""Options that say how a run is shown or continued, not what it is."""
_MADE_BY_UV = "UV_RUN_RECURSION_DEPTH"
"""Set by `uv run`, which changes PATH for this process only."""


def typed_command(context: click.Context) -> CommandLine:
    """Return the command of this context, without options that only say how a run is shown or continued."""
    name = tuple(context.command_path.split()[1:])
    typed = list(context.meta.get(TYPED, ()))[len(name) :]
    values, _, order = context.command.make_parser(context).parse_args(typed)
    given = [(item, values[item.name]) for item in dict.fromkeys(order) if values.get(item.name or "") is not None]
    options = [option for item, value in given if isinstance(item, click.Option) for option in _options(item, value)]
    positional = [word for item, value in given if isinstance(item, click.Argument) for word in _words(value)]
    return CommandLine(
        name=name,
        options=tuple(options),
        arguments=tuple(positional),
        folder=str(Path.cwd()),
    )


def _options(item: click.Option, value: object) -> Iterator[tuple[str, ...]]:
    if item.name in _ONLY_THIS_TIME:
        return
    if isinstance(value, bool):
        yield (item.opts[0],) if value else (item.secondary_opts[0],)
        return
    for word in _words(value):
        yield item.opts[0], without_password(word) if item.name == "store" else word


def _words(value: Any) -> list[str]:
    """The one value or the several values of an option or an argument."""
    return [str(each) for each in (value if isinstance(value, (list, tuple)) else [value])]


def program(folder: Path | None = None) -> tuple[str, ...]:
    """Return what starts this program in a folder, by default the current one: its name if on PATH, or its path."""
    here = folder.absolute() if folder else Path.cwd()
    path, python = Path(sys.argv[0]).absolute(), Path(sys.executable)
    as_module = path.parts[-2:] == ("prompt_evaluator", "__main__.py")
    if path.name != PROGRAM and not as_module:  # called from other Python code
        return (PROGRAM,)
    if _MADE_BY_UV not in os.environ and _is_found(python.with_name(PROGRAM) if as_module else path):
        return (PROGRAM,)
    return (_shown(python, here), "-m", "prompt_evaluator") if as_module else (_shown(path, here),)


def _is_found(path: Path) -> bool:
    """Whether a shell finds exactly this file by its name."""
    found = shutil.which(PROGRAM)
    return found is not None and path.exists() and Path(found).samefile(path)


def _shown(path: Path, here: Path) -> str:
    """Return the path relative to the folder if it is below it, written so that a shell does not search PATH."""
    if not path.is_relative_to(here):
        return str(path)
    relative = str(path.relative_to(here))
    return relative if os.sep in relative else os.path.join(os.curdir, relative)  # noqa: PTH118 - `Path` drops the dot


def pasteable(text: str) -> str:
    """Rewrite commands in backquotes so that they start this program from here."""
    start = shlex.join(program())
    return text if start == PROGRAM else text.replace(f"`{PROGRAM} ", f"`{start} ")
