"""Takes the pictures of the example reports that the docs show: `make pictures`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pypdfium2
from PIL import Image

from browser import chromium, launched, opened
from example_report import COMPARE, RUN, make_reports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

PICTURES = Path(__file__).parent / "pictures"
REPORTS = Path(__file__).parents[1] / "build" / "example-report"
A4 = (794, 1123)
"""Pixels, at 96 to the inch."""
_COLOURS = 128
_ROUNDS = 2
"""Of improving the palette: without any, grey panels turn beige."""
_POINTS_PER_INCH = 72
_PIXELS_PER_INCH = 96


class Picture(NamedTuple):
    """One picture: which report, and how it is looked at."""

    report: str
    size: tuple[int, int]
    dark: bool = False
    printed: bool = False
    part: str | None = None
    """The section at the top; by default, the start of the report."""


NAMED = {
    "run-1400": Picture(RUN, (1400, 1240)),
    "run-390": Picture(RUN, (390, 1560)),
    "run-dark": Picture(RUN, (1400, 1240), dark=True),
    "run-print": Picture(RUN, A4, printed=True),
    "run-case": Picture(RUN, (1400, 760), part="cases"),
    "compare-1400": Picture(COMPARE, (1400, 1240)),
}


def take_pictures(reports: dict[str, Path], folder: Path, browser: Browser) -> Iterator[Path]:
    """Write every named picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in NAMED.items():
        path = folder / f"{name}.png"
        _take(picture, reports[picture.report], path, browser)
        make_small(path)
        yield path


def _take(picture: Picture, report: Path, path: Path, browser: Browser) -> None:
    look: dict[str, Any] = {"color_scheme": "dark" if picture.dark else "light", "size": picture.size}
    with opened(browser, report, **look) as found:
        if picture.printed:
            first_page(found.page.pdf(prefer_css_page_size=True)).save(path)
            return
        if picture.part:
            found.page.evaluate("(id) => document.getElementById(id).scrollIntoView()", picture.part)
        found.page.screenshot(path=path)


def first_page(pdf: bytes) -> Image.Image:
    """The first sheet, as paper is seen on a screen."""
    document = pypdfium2.PdfDocument(pdf)
    try:
        drawn: Image.Image = document[0].render(scale=_PIXELS_PER_INCH / _POINTS_PER_INCH).to_pil()
        return drawn.convert("RGB").resize(A4)
    finally:
        document.close()


def make_small(path: Path) -> None:
    """Reduce the number of colours, which text and simple charts do not miss."""
    with Image.open(path) as found:
        small = found.convert("RGB").quantize(
            _COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=_ROUNDS, dither=Image.Dither.NONE
        )
    small.save(path, optimize=True)


def main() -> None:
    program = chromium()
    if program is None:
        sys.exit("There is no Chromium here. Install it, such as Debian's package `chromium-headless-shell`.")
    reports = make_reports(REPORTS)
    with launched(program) as browser:
        for path in take_pictures(reports, PICTURES, browser):
            print(f"{path.relative_to(PICTURES.parent)}: {path.stat().st_size // 1000} kB")
    print(f"The reports: {', '.join(str(path.relative_to(REPORTS.parents[1])) for path in reports.values())}")


if __name__ == "__main__":
    main()
