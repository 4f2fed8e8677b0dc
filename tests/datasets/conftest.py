"""What every test of reading cases needs: a file with given content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from pathlib import Path


class Write(Protocol):
    """Puts content into a file of the test's own folder."""

    def __call__(self, name: str, content: str | bytes) -> Path: ...


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
