"""What goes to standard output for programs, or to a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from prompt_evaluator.cli.text import coloured, plain, writable
from prompt_evaluator.model import REDACTOR

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_lines(lines: Iterable[bytes], output: Path | None) -> None:
    """To a file, or to standard output where none is named."""
    if output is None:
        sys.stdout.buffer.writelines(lines)
        return
    try:
        with output.open("wb") as file:
            file.writelines(lines)
    except OSError as error:
        raise click.UsageError(f"{output} cannot be written: {error.strerror}.") from None


def print_json(value: object) -> None:
    """One JSON object on standard output."""
    sys.stdout.buffer.write(REDACTOR.bytes(msgspec.json.format(msgspec.json.encode(value), indent=2)) + b"\n")


def print_lines(lines: Iterable[str]) -> None:
    """Coloured lines on standard output, plain where that is no terminal."""
    text = "\n".join(lines)
    click.echo(writable(text if coloured(sys.stdout) else plain(text), sys.stdout.encoding), color=True)
