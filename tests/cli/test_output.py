"""What commands write to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.cli.output import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_a_good_file_is_kept_if_a_new_one_cannot_be_written_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    write_lines([b"good\n"], path)

    def half() -> Iterator[bytes]:
        yield b"bad\n"
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        write_lines(half(), path)

    assert path.read_bytes() == b"good\n"
    assert list(tmp_path.iterdir()) == [path]
