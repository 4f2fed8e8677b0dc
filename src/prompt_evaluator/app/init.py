"""Creates a new project with everything a first evaluation needs, ready to run offline."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import ConfigurationError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

FILES = {
    "prompt_evaluator.yaml": "prompt_evaluator.yaml",
    "datasets/support.yaml": "datasets/support.yaml",
    "prompts/system.txt": "prompts/system.txt",
    "rubrics/support.yaml": "rubrics/support.yaml",
    ".github/workflows/evaluate.yml": "evaluate.yml",
    "EVALUATION.md": "EVALUATION.md",
}
"""Maps each file to write to its template."""
IGNORED = (".prompt_evaluator/", "runs/", ".env")
COMMAND = "prompt-evaluator evaluate-dataset -d support -s system"


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A new project."""

    folder: Path
    written: tuple[str, ...]
    command: str = COMMAND
    """The command to run next in the folder."""


def create_project(folder: Path, *, force: bool = False) -> Project:
    """Write the files of a project; if one of them exists already, write none.

    Args:
        folder: Created if it does not exist.
        force: Replace existing files. `.gitignore` is only ever appended to.

    Raises:
        ConfigurationError: Files exist already, or the folder is not writable.
    """
    present = [name for name in FILES if (folder / name).exists() or (folder / name).is_symlink()]
    if present and not force:
        names = ", ".join(present)
        raise ConfigurationError(
            f"{folder.absolute()} already has {names}. Nothing was written. "
            "Choose another folder, or pass --force to replace these files."
        )
    try:
        for name, template in FILES.items():
            _write(folder / name, _templates().joinpath(template).read_bytes())
        ignored = _ignore(folder / ".gitignore")
    except OSError as error:
        what = f"The project cannot be written to {folder.absolute()}: {error.strerror}"
        raise ConfigurationError(f"{what} ({error.filename}). Choose another folder.") from None
    return Project(folder=folder, written=(*FILES, *((".gitignore",) if ignored else ())))


def _templates() -> Traversable:
    return files(__package__).joinpath("project")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _ignore(path: Path) -> bool:
    """Add missing lines; return whether there were any."""
    before = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
    missing = [line for line in IGNORED if line not in before.splitlines()]
    if missing:
        gap = "" if not before or before.endswith("\n") else "\n"
        after = before + gap + "".join(f"{line}\n" for line in missing)
        path.write_text(after, encoding="utf-8", errors="surrogateescape")
    return bool(missing)
