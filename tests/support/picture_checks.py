"""What every picture of the docs is like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import Image, ImageStat

from dashboard_pictures import NAMED as DASHBOARD
from pictures import NAMED

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 200_000


def check_picture(path: Path) -> None:
    """The picture has its size, is small, shows something, and is as dark as it should be."""
    named = (NAMED | DASHBOARD)[path.stem]
    with Image.open(path) as found:
        assert found.size == named.size
        picture = found.convert("L")
    lightness = ImageStat.Stat(picture)
    assert path.stat().st_size < MOST_BYTES
    assert lightness.stddev[0] > 10
    assert (lightness.mean[0] < 60) if named.dark else (lightness.mean[0] > 220)
