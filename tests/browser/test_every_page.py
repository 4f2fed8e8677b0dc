"""Every page of the dashboard once: axe (WCAG 2.1 AA), a desk and a phone, no scripts, and texts that do no harm."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import board_site
import pytest
import sliced_site
from axe import violations
from case_gallery import HOSTILE, RUN, write_gallery
from data_site import make_data_site
from hostile import MARK
from seeded_site import seed
from served import served
from watched_page import watched_page
from workspace import Workspace

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from served import Served


RUN_PAGES = {
    "benchmarks": "/",
    "benchmarks, filtered to nothing": "/?q=dataset:none",
    "sign-in": "/sign-in",
    "API": "/api/v1/docs",
    "a refusal": "/runs/none",
    "run": "/runs/{better}",
    "run with errors": "/runs/{with_errors}?q=flaky",
    "run of hostile texts": "/runs/{hostile}?columns=topic,kind",
    "case": "/runs/gallery/cases/charged-twice",
    "case, a difference": "/runs/gallery/cases/charged-twice?view=diff",
    "case with tools": "/runs/gallery/cases/tools",
    "case of hostile texts": f"/runs/{RUN}/cases/{quote(f'8 {HOSTILE[8][:60]}', safe='')}?view=markdown",
    "comparison to be chosen": "/compare",
    "compare": "/compare?a={baseline}&b={better}",
    "compared case": "/compare?a={baseline}&b={better}&case=returns-007",
    "compare hostile texts": "/compare?a={hostile}&b={hostile_too}&different=1",
    "matrix": "/compare?a={baseline}&b={better}&view=matrix",
    "groups": "/runs/{sliced}/slices",
    "groups, thin": "/runs/{better}/slices?keys=customer",
    "groups of hostile texts": "/runs/{hostile}/slices",
    "errors of a run": "/runs/{sliced}/errors",
    "errors": "/errors",
    "leaderboard": "/leaderboard",
    "leaderboard of a dataset": f"/leaderboard?dataset={board_site.RANKED}",
    "leaderboard of hostile names": f"/leaderboard?dataset={quote(board_site.HOSTILE)}",
    "trends": f"/trends?dataset={board_site.FOLLOWED}",
    "what to label": "/runs/{better}/label",
    "label an answer": "/runs/{better}/label?metric=correct&reviewer=anna",
}
DATA_PAGES = {
    "datasets": "/datasets",
    "dataset": "/datasets/support",
    "a case of a dataset": "/datasets/support?at=1",
    "dataset with problems": "/datasets/broken",
    "dataset of hostile texts": "/datasets/hostile",
    "harness": "/harness",
}
DARK = ("run", "compare", "groups", "label an answer", "dataset with problems", "harness")
_DEPEND_ON_WIDTH = ("scrollable-region-focusable", "link-name", "button-name", "label")
"""Rules, of which colours are not one: judging all of them twice takes a minute."""
_FOREIGN = "main :is(iframe, img, object, embed, base, link, style, meta)"
_WIDE = "document.documentElement.scrollWidth"


class Site(NamedTuple):
    """A server with the addresses of its pages."""

    server: Served
    pages: dict[str, str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    seeded = seed(tmp_path_factory.mktemp("runs"))
    with closing(open_store(seeded.settings)) as store:
        write_gallery(store)
    sliced = sliced_site.fill(seeded.folder)
    board_site.fill(seeded.folder)
    names = {key: value for key, value in seeded._asdict().items() if isinstance(value, str)}
    names |= {"sliced": sliced.run, "hostile_too": RUN}
    with served(Workspace(seeded.folder), "--no-worker") as server:
        yield Site(server, {name: path.format(**names) for name, path in RUN_PAGES.items()})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(Workspace(make_data_site(tmp_path_factory.mktemp("data")).folder), "--no-worker") as server:
        yield Site(server, DATA_PAGES)


@pytest.fixture(params=["runs", "data"])
def site(request: pytest.FixtureRequest) -> Site:
    found: Site = request.getfixturevalue(request.param)
    return found


def test_every_page_is_for_everybody_and_no_text_does_anything(browser: Browser, site: Site) -> None:
    wrong: dict[str, list[Any]] = {}
    with watched_page(browser, site.server, dialogs=False) as page:
        for name, path in site.pages.items():
            page.set_viewport_size({"width": 1400, "height": 900})
            page.goto(site.server.address + path)
            found = [*violations(page), *_harm(page), *_sideways(page, 1400)]
            page.set_viewport_size({"width": 360, "height": 800})
            found += [*violations(page, *_DEPEND_ON_WIDTH), *_sideways(page, 360)]
            wrong |= {name: found} if found else {}

    assert wrong == {}


def test_every_page_can_be_read_in_the_dark(browser: Browser, site: Site) -> None:
    wrong: dict[str, list[str]] = {}
    with browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme="dark") as context:
        page = context.new_page()
        for name in (each for each in DARK if each in site.pages):
            page.goto(site.server.address + site.pages[name])
            found = violations(page, "color-contrast")
            wrong |= {name: found} if found else {}

    assert wrong == {}


def test_every_page_can_be_read_without_scripts(browser: Browser, site: Site) -> None:
    wrong: dict[str, list[Any]] = {}
    with browser.new_context(viewport={"width": 360, "height": 800}, java_script_enabled=False) as context:
        page = context.new_page()
        for name, path in site.pages.items():
            page.goto(site.server.address + path)
            said = page.locator("h1").all_inner_texts()
            box = page.locator("html").bounding_box()
            width = box["width"] if box else 0
            if len(said) != 1 or not said[0].strip() or width > 360:
                wrong[name] = [said, width]

    assert wrong == {}


def _harm(page: Page) -> list[str]:
    """What a text of a model or of a person did to the page."""
    marked = page.evaluate(f"[window.{MARK}, Object.prototype.{MARK}].some((each) => each !== undefined)")
    foreign = page.locator(_FOREIGN).count()
    return ["a script ran"] * marked + [f"{foreign} foreign elements"] * bool(foreign)


def _sideways(page: Page, width: int) -> list[str]:
    found: int = page.evaluate(_WIDE)
    return [f"{found} pixels wide at {width}"] if found > width else []
