"""The example reports and the pictures of them that the docs show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pypdfium2
import pytest
from PIL import Image, ImageStat
from soak import SOAKING, trials

from browser import opened
from dashboard_pictures import NAMED as DASHBOARD
from dashboard_pictures import running_sites, take_dashboard_pictures
from example_report import COMPARE, RUN, make_reports
from pictures import NAMED, PICTURES, take_pictures

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CHARTS = {RUN: 2, COMPARE: 4}
MOST_BYTES = 200_000
A4_POINTS = (595, 842)
WITHIN_MARGINS = 703
"""Pixels of A4."""
_SHOWN = re.compile(r"!\[[^\]]{20,}\]\((?:docs/|\.\./)pictures/([a-z0-9-]+)\.png\)")
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TOO_WIDE = """(width) => [...document.querySelectorAll("table, .chart svg, pre")].filter((each) =>
    each.getBoundingClientRect().right > width + 1).map((each) => each.closest("section").id)"""

_CUT_OFF = """[...document.querySelectorAll(".scroll, .chart")].filter((each) =>
    each.checkVisibility() && each.scrollWidth > each.clientWidth + 1).map((each) => each.closest("section").id)"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> dict[str, Path]:
    assert browser.is_connected()  # without one, the tests are skipped before the reports are made
    return make_reports(tmp_path_factory.mktemp("example"))


@pytest.mark.slow
def test_every_named_picture_can_be_taken_again(reports: dict[str, Path], browser: Browser, tmp_path: Path) -> None:
    taken = list(take_pictures(reports, tmp_path, browser))

    assert [path.stem for path in taken] == list(NAMED)
    for path in taken:
        _check(path)


def test_the_pictures_in_the_docs_are_those_that_are_named() -> None:
    found = sorted(PICTURES.glob("*.png"))  # others are drawings of figures

    assert [path.name for path in found] == sorted(f"{name}.png" for name in NAMED | DASHBOARD)
    for path in found:
        _check(path)


@pytest.mark.slow
@pytest.mark.soak
def test_pictures_of_the_dashboard_can_be_taken_again(browser: Browser, tmp_path: Path) -> None:
    names = list(DASHBOARD) if SOAKING else ["dashboard-run-1400", "slices-1400"]
    with running_sites(tmp_path / "sites", names, cases=trials(2_000, soak=20_000)) as sites:
        taken = list(take_dashboard_pictures(sites, tmp_path / "pictures", browser, names))

    assert [path.stem for path in taken] == names
    for path in taken:
        _check(path)


def _check(path: Path) -> None:
    """The picture has its size, is small, shows something, and is as dark as it should be."""
    named = (NAMED | DASHBOARD)[path.stem]
    with Image.open(path) as found:
        assert found.size == named.size
        picture = found.convert("L")
    lightness = ImageStat.Stat(picture)
    assert path.stat().st_size < MOST_BYTES
    assert lightness.stddev[0] > 10
    assert (lightness.mean[0] < 60) if named.dark else (lightness.mean[0] > 220)


@pytest.mark.parametrize("name", CHARTS)
def test_an_example_report_is_the_same_every_time(reports: dict[str, Path], name: str) -> None:
    said, _, _ = reports[name].read_text("utf-8").partition("</footer>")

    assert len(set(_UUID.findall(said))) == (1 if name == RUN else 2)
    assert set(re.findall(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", said)) <= {"2026-03-02T09:30", "2026-03-02 09:30"}
    assert str(reports[name].parents[1]) not in said


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("name", CHARTS)
def test_an_example_report_draws_its_charts_and_asks_nobody(
    reports: dict[str, Path], browser: Browser, name: str, look: str
) -> None:
    with opened(browser, reports[name], color_scheme=look) as found:
        charts = found.page.locator(f"figure .for-{look} svg")

        assert charts.count() == CHARTS[name]
        assert all(charts.nth(at).is_visible() for at in range(CHARTS[name]))
        assert all(charts.nth(at).locator("path, text").count() > 5 for at in range(CHARTS[name]))
        assert (found.outside, found.complaints, found.violations) == ([], [], [])


@pytest.mark.parametrize("name", CHARTS)
def test_an_example_report_fits_a_phone_and_hides_nothing_on_a_desk(
    reports: dict[str, Path], browser: Browser, name: str
) -> None:
    with opened(browser, reports[name], size=(390, 844)) as found:
        assert found.wider_than(390) == []

        found.page.set_viewport_size({"width": 1400, "height": 900})
        assert found.wider_than(1400) == []
        assert found.page.evaluate(_CUT_OFF) == []


@pytest.mark.parametrize("name", CHARTS)
def test_an_example_report_fits_the_paper(reports: dict[str, Path], browser: Browser, name: str) -> None:
    with opened(browser, reports[name], size=(WITHIN_MARGINS, 1000), media="print") as found:
        assert found.wider_than(WITHIN_MARGINS) == []
        assert found.page.evaluate(_TOO_WIDE, WITHIN_MARGINS) == []
        printed = found.page.pdf(prefer_css_page_size=True)

    document = pypdfium2.PdfDocument(printed)
    sizes = {tuple(map(round, page.get_size())) for page in document}
    marks = [ImageStat.Stat(page.render(scale=0.3).to_pil().convert("L")).stddev[0] for page in document]
    letters = document[0].get_textpage()
    tallest = max(letters.get_charbox(at)[3] - letters.get_charbox(at)[1] for at in range(100))
    document.close()
    assert sizes == {A4_POINTS}
    assert tallest > 7  # points of the title: Chromium shrinks the whole document if anything is too wide
    assert min(marks) > 1


def test_the_docs_show_the_pictures_with_words_for_those_who_cannot_see_them() -> None:
    shown = {page.name: _SHOWN.findall(page.read_text("utf-8")) for page in PAGES}

    assert "compare-1400" in shown["README.md"] + shown["compare-runs.md"]
    assert shown["README.md"] == ["compare-1400", "dashboard-compare-1400"]
    assert "dashboard-run-1400" in shown["use-the-dashboard.md"]
    assert "run-1400" in shown["write-reports.md"]
    assert {name for names in shown.values() for name in names} <= {*NAMED, *DASHBOARD}
