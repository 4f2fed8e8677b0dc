"""Where the lines of an export go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

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
