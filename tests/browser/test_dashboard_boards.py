"""The leaderboard and the trends in a browser: choose, select, compare, follow a point of a chart, copy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from board_site import FELL, FOLLOWED, RANKED, RUNS, BoardSite, fill
from playwright.sync_api import expect
from served import served
from watched_page import watched_page
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from served import Served


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, BoardSite]]:
    folder = tmp_path_factory.mktemp("boards")
    workspace = Workspace(folder)
    workspace.configure(version=1)
    runs = fill(folder)
    with served(workspace, "--no-worker") as found:
        yield found, runs


@pytest.fixture
def server(filled: tuple[Served, BoardSite]) -> Served:
    return filled[0]


@pytest.fixture
def runs(filled: tuple[Served, BoardSite]) -> BoardSite:
    return filled[1]


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server, dialogs=False, errors=True) as found:
        found.set_default_timeout(60_000)
        yield found


def _drawn(page: Page) -> None:
    """Wait until every chart is drawn, also the one for paper."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('figure[data-chart] .chart')]"
        ".every((each) => each.dataset.drawn && each.querySelector('.for-print svg'))"
    )


def test_cost_against_quality_is_drawn_and_a_point_opens_its_run(page: Page, server: Served, runs: BoardSite) -> None:
    page.goto(f"{server.address}/leaderboard?dataset={RANKED}")
    _drawn(page)
    points = page.locator(".chart.cost .for-screen .mark-symbol path")
    expect(points).to_have_count(5)
    points.first.hover()
    expect(page.locator("#vg-tooltip-element")).to_contain_text("hosted/tiny")
    points.first.click()

    page.wait_for_url(f"**/runs/{runs.ranked[3]}")


def test_a_point_of_a_trend_opens_its_run_and_a_change_both_sides(page: Page, server: Served, runs: BoardSite) -> None:
    page.goto(f"{server.address}/trends?dataset={FOLLOWED}")
    _drawn(page)
    page.locator(".for-screen .mark-symbol path").first.click()
    page.wait_for_url(f"**/runs/{runs.followed[0]}")
    page.go_back()
    _drawn(page)
    page.locator(".for-screen .mark-text text").filter(has_text=re.compile(r"^3\.\d+ → 3\.\d+$")).click()

    page.wait_for_url(f"**/compare?a={runs.followed[FELL - 1]}&b={runs.followed[FELL]}")
    expect(page.locator(".pair")).to_be_visible()


def test_a_change_and_two_runs_of_the_table_lead_to_the_comparison(page: Page, server: Served, runs: BoardSite) -> None:
    page.goto(f"{server.address}/trends?dataset={FOLLOWED}")
    expect(page.locator("table.over-time tbody tr")).to_have_count(RUNS)
    for key in ("j", "x", "j", "j", "x"):
        page.keyboard.press(key)
    href = f"/compare?a={runs.followed[-3]}&b={runs.followed[-1]}"
    expect(page.locator("#compare-selected")).to_have_attribute("href", href)
    page.locator("a.badge.worse").first.click()

    page.wait_for_url(f"**/compare?a={runs.followed[FELL - 1]}&b={runs.followed[FELL]}")


def test_charts_follow_the_theme(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/trends?dataset={FOLLOWED}")
    _drawn(page)
    label = page.locator(".for-screen .role-axis-label text").first
    light = label.get_attribute("fill")
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator(".chart")).to_have_attribute("data-drawn", "dark")

    assert label.get_attribute("fill") != light
    assert page.locator(".for-print .role-axis-label text").first.get_attribute("fill") == light
