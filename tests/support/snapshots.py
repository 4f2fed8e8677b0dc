"""What a command prints, kept as text files: look at them when they change."""

from __future__ import annotations

import os
from pathlib import Path

UPDATE = "UPDATE_SNAPSHOTS"
"""Set this to write the files anew; then look at them before they are committed."""
WIDTHS = (40, 80, 160)
"""Of terminals in which no line may be too wide; snapshots are taken at 80."""
_FOLDER = Path(__file__).parent.parent / "cli/snapshots"


def check(name: str, text: str) -> None:
    """Compare the text with the file that shows it at 80 columns."""
    path = _FOLDER / f"{name}_80.txt"
    if os.environ.get(UPDATE):
        path.write_text(f"{text}\n", "utf-8")
    assert f"{text}\n" == path.read_text("utf-8"), f"{path.name} has changed; {UPDATE}=1 writes it anew"
