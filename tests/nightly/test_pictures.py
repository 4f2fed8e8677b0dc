"""The example reports and the pictures of the docs can be made again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pypdfium2
import pytest
from picture_checks import check_picture
from PIL import ImageStat

from browser import opened, running_browser
from dashboard_pictures import NAMED as DASHBOARD
from dashboard_pictures import running_sites, take_dashboard_pictures
from example_report import COMPARE, RUN, make_reports
from pictures import NAMED, take_pictures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

A4_POINTS = (595, 842)
WITHIN_MARGINS = 703
"""Pixels of A4."""
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TOO_WIDE = """(width) => [...document.querySelectorAll("table, .chart svg, pre")].filter((each) =>
    each.getBoundingClientRect().right > width + 1).map((each) => each.closest("section").id)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as found:
        yield found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> dict[str, Path]:
    assert browser.is_connected()  # without one, the tests are skipped before the reports are made
    return make_reports(tmp_path_factory.mktemp("example"))


def test_every_named_picture_can_be_taken_again(reports: dict[str, Path], browser: Browser, tmp_path: Path) -> None:
    taken = list(take_pictures(reports, tmp_path, browser))

    assert [path.stem for path in taken] == list(NAMED)
    for path in taken:
        check_picture(path)


def test_pictures_of_the_dashboard_can_be_taken_again(browser: Browser, tmp_path: Path) -> None:
    names = list(DASHBOARD)
    with running_sites(tmp_path / "sites", names, cases=20_000) as sites:
        taken = list(take_dashboard_pictures(sites, tmp_path / "pictures", browser, names))

    assert [path.stem for path in taken] == names
    for path in taken:
        check_picture(path)


@pytest.mark.parametrize("name", [RUN, COMPARE])
def test_an_example_report_is_the_same_every_time(reports: dict[str, Path], name: str) -> None:
    said, _, _ = reports[name].read_text("utf-8").partition("</footer>")

    assert len(set(_UUID.findall(said))) == (1 if name == RUN else 2)
    assert set(re.findall(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", said)) <= {"2026-03-02T09:30", "2026-03-02 09:30"}
    assert str(reports[name].parents[1]) not in said


@pytest.mark.parametrize("name", [RUN, COMPARE])
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
