"""Pages of datasets and of the harness in a browser: search, keys, versions, problems, the gate, at any width."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from data_site import make_data_site
from playwright.sync_api import expect
from served import served
from watched_page import watched_page
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from data_site import DataSite
    from playwright.sync_api import Browser, Page
    from served import Served


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> DataSite:
    return make_data_site(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def server(made: DataSite) -> Iterator[Served]:
    with served(Workspace(made.folder), "--no-worker") as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server, dialogs=False, errors=True) as found:
        yield found


def test_from_the_list_to_a_filtered_case_with_the_keyboard_alone(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/datasets")
    page.keyboard.press("/")
    page.keyboard.type("support")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("h1").click()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/datasets/support")
    page.keyboard.press("/")
    page.keyboard.type("topic:bil")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("[data-position]")).to_have_text(re.compile("^1.12 of 12$"))
    page.locator("h1").click()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("[data-position]")).to_have_text("2 of 12")
    page.keyboard.press("Enter")
    expect(page.locator("[data-place]")).to_have_text("2 of 12 in «topic:billing »")
    expect(page.locator("h1")).to_have_text("billing-004")
    page.keyboard.press("ArrowRight")
    expect(page.locator("h1")).to_have_text("billing-008")
    page.reload()
    expect(page.locator("[data-place]")).to_have_text("3 of 12 in «topic:billing »")
    page.get_by_role("link", name="Its answers in the newest run").click()
    page.wait_for_url("**/runs/33333333-*/cases/billing-008")
