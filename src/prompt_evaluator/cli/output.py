"""Writes results to standard output or to a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from prompt_evaluator.cli.text import coloured, plain, writable
from prompt_evaluator.model import REDACTOR

if TYPE_CHECKING:
    from collections.abc import Iterable

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")


def write_lines(lines: Iterable[bytes], output: Path | None) -> None:
    """Write to a file, as a whole or not at all, or to standard output if `output` is None."""
    if output is None:
        sys.stdout.buffer.writelines(lines)
        return
    from prompt_evaluator.app.report_files import written_file  # noqa: PLC0415 - only for files

    with written_file(output) as file:
        file.writelines(lines)


def print_json(value: object) -> None:
    """Print one JSON object to standard output, without secrets."""
    text = msgspec.json.encode(value, enc_hook=_path_as_text)
    sys.stdout.buffer.write(msgspec.json.format(REDACTOR.json(text), indent=2) + b"\n")


def _path_as_text(value: object) -> str:
    if isinstance(value, Path):
        return os.fsencode(value).decode(errors="replace")
    raise NotImplementedError


def print_lines(lines: Iterable[str]) -> None:
    """Print lines to standard output, in colour if it is a terminal."""
    text = "\n".join(lines)
    click.echo(writable(text if coloured(sys.stdout) else plain(text), sys.stdout.encoding), color=True)
