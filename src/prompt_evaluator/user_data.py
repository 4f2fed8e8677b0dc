"""The folder for what belongs to a user and not to a project."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "PROMPT_EVALUATOR_DATA"


def data_folder() -> Path:
    """The user's data folder, as the XDG base directory specification says."""
    if own := os.environ.get(VARIABLE):
        return Path(own)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "prompt-evaluator"
