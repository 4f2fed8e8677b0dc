"""Every page of the dashboard is for everybody: axe finds nothing against WCAG 2.1 AA, in any colours and widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from axe import violations
from seeded_site import seed
from served import served
from soak import SOAKING
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from seeded_site import Seeded
    from served import Served

pytestmark = [pytest.mark.slow, pytest.mark.soak]

PAGES = {
    "benchmarks": "/",
    "benchmarks, filtered to nothing": "/?q=dataset:none",
    "sign-in": "/sign-in",
    "API": "/api/v1/docs",
    "a refusal": "/runs/none",
    "run": "/runs/{better}",
    "run with errors": "/runs/{with_errors}",
    "run, filtered": "/runs/{better}?q=flaky",
    "case": "/runs/{better}/cases/returns-007",
    "comparison to be chosen": "/compare",
    "compare": "/compare?a={baseline}&b={better}",
    "groups": "/runs/{better}/slices",
    "groups, thin": "/runs/{better}/slices?keys=customer",
    "groups of hostile texts": "/runs/{hostile}/slices",
    "errors of a run": "/runs/{with_errors}/errors",
    "errors": "/errors",
    "datasets": "/datasets",
    "dataset": "/datasets/support",
    "a case of a dataset": "/datasets/support?at=1",
    "harness, not run yet": "/harness",
    "matrix": "/compare?a={baseline}&b={better}&view=matrix",
    "leaderboard": "/leaderboard",
    "leaderboard of a dataset": "/leaderboard?dataset=support",
    "trends": "/trends?dataset=support",
    "what to label": "/runs/{better}/label",
    "label an answer": "/runs/{better}/label?metric=correct&reviewer=anna",
}

_DEPEND_ON_WIDTH = () if SOAKING else ("scrollable-region-focusable", "link-name", "button-name", "label")
"""Rules, of which colours are not one: judging all of them twice takes a minute."""


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seed(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def server(seeded: Seeded) -> Iterator[Served]:
    with served(Workspace(seeded.folder), "--no-worker") as found:
        yield found


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        *((name, "light") for name in PAGES),
        *((name, "dark") for name in (PAGES if SOAKING else ("run", "compare", "groups", "label an answer"))),
    ],
)
def test_axe_finds_nothing(browser: Browser, server: Served, seeded: Seeded, name: str, scheme: Any) -> None:
    runs = {key: value for key, value in seeded._asdict().items() if isinstance(value, str)}
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(120_000)
    try:
        page = context.new_page()
        page.goto(server.address + PAGES[name].format(**runs))

        assert violations(page) == []
        page.set_viewport_size({"width": 360, "height": 800})
        assert violations(page, *_DEPEND_ON_WIDTH) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    finally:
        context.close()
