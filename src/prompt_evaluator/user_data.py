"""The folder for what the program keeps for a user, in no project."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA_VARIABLE = "PROMPT_EVALUATOR_DATA"


def user_data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """`PROMPT_EVALUATOR_DATA`, or else as the XDG base directory specification has it. It may not exist yet."""
    known = os.environ if environment is None else environment
    if named := known.get(DATA_VARIABLE):
        return Path(named).expanduser()
    given = Path(known.get("XDG_DATA_HOME", ""))
    base = given if given.is_absolute() else Path(known.get("HOME") or Path.home()) / ".local" / "share"
    return base / "prompt-evaluator"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole: readers see the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(content)
            file.close()
            Path(file.name).replace(path)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise
