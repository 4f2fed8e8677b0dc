"""The folder of a bundle: it appears as a whole, or not at all."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from prompt_evaluator.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "prompt-evaluator-bundle.txt"
"""A file by which an earlier bundle is known."""
_SAYS = "Written by `prompt-evaluator view`. Open index.html. The next bundle of this name replaces the whole folder.\n"


class Folder:
    """Files that are being written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.files = 0
        self.size = 0
        """In bytes."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, given its path in the folder."""
        path = self._path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.files, self.size = self.files + 1, self.size + len(content)


@contextmanager
def replaced_folder(out: Path) -> Iterator[Folder]:
    """A folder to write to, which takes the place of an earlier bundle if nothing fails.

    Raises:
        ConfigurationError: There is something else, or the disk cannot be written to.
    """
    out = Path(out).resolve()
    _refuse_foreign(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise _unwritable(out, error) from None
    try:
        folder = Folder(made)
        folder.write(MARK, _SAYS.encode())
        yield folder
        made.chmod(0o755)
        _refuse_foreign(out)
        _exchange(made, out)
    except OSError as error:
        raise _unwritable(out, error) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _refuse_foreign(out: Path) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise ConfigurationError(f"{out} is a file. Name a folder that may be made: -o FOLDER.")
    if any(out.iterdir()) and not (out / MARK).is_file():
        raise ConfigurationError(
            f"{out} holds other files, and a bundle replaces its whole folder. Name another folder: -o FOLDER."
        )


def _exchange(made: Path, out: Path) -> None:
    """Put the new folder in the place of the old one, which is gone only then."""
    old = made.with_name(f"{made.name}.old")
    if out.exists():
        out.rename(old)
    made.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _unwritable(out: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The bundle cannot be written to {out}: {error.strerror or error}. Free some space, or name another folder: "
        "-o FOLDER."
    )
