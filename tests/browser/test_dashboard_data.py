"""Pages of datasets and of the harness in a browser: search, keys, versions, problems, the gate, at any width."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from axe import violations
from data_site import make_data_site
from hostile import MARK
from playwright.sync_api import expect
from served import served
from watched_page import watched_page
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from data_site import DataSite
    from playwright.sync_api import Browser, Page
    from served import Served

pytestmark = pytest.mark.slow
_SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_SHIFT = """() => new Promise((done) => { let sum = 0;
    new PerformanceObserver((list) => { for (const each of list.getEntries()) sum += each.value; })
        .observe({type: "layout-shift", buffered: true});
    requestAnimationFrame(() => requestAnimationFrame(() => done(sum))); })"""


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


def test_problems_are_listed_by_line_with_how_to_fix_them(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/datasets?show=broken")
    page.locator("tbody tr", has_text="broken").locator("a.bad").click()

    expect(page.locator("#problems tbody tr")).to_have_count(5)
    expect(page.locator("#problems tbody tr").first).to_contain_text("Add input, a non-empty text.")
    expect(page.locator("h1")).to_contain_text("5 problems")


def test_a_run_is_started_with_the_dataset_chosen(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/datasets/support")
    page.get_by_role("link", name="Start a run").click()

    expect(page.locator("select[name=what]")).to_have_value("dataset:support")
    expect(page.locator("#start")).to_be_visible()


def test_columns_are_chosen(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/datasets/support")
    page.locator("summary", has_text="Columns").click()
    page.get_by_label("difficulty").uncheck()
    page.get_by_role("button", name="Show").click()

    expect(page.locator("#cases th")).to_have_text(["Case", "Input", "Reference", "topic", "customer"])


@pytest.mark.parametrize("path", ["/datasets", "/datasets/support"])
def test_a_page_is_copied_as_markdown_and_as_a_command(page: Page, server: Served, path: str) -> None:
    page.goto(f"{server.address}{path}")
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.locator("#said")).to_have_text("Copied.")

    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#markdown").text_content()
    assert "|" in copied
    page.locator(".share button", has_text=re.compile("^copy$")).first.click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('prompt-evaluator ')")


@pytest.mark.parametrize("width", [360, 2560])
def test_nothing_moves_and_nothing_is_wider_than_the_page(page: Page, server: Served, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for path in (
        "/datasets",
        "/datasets/support",
        "/datasets/support?at=2",
        "/datasets/broken",
        "/datasets/hostile",
        "/harness",
    ):
        page.goto(server.address + path)
        assert page.evaluate(_SIDEWAYS) <= 0, path
        assert page.evaluate(_SHIFT) < 0.01, path
        assert page.evaluate(f"window.{MARK}") is None, path


def test_everything_can_be_read_without_scripts(browser: Browser, server: Served) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{server.address}/datasets/support?q=topic:billing")
        assert page.locator("#cases tbody tr").count() == 12
        page.goto(f"{server.address}/harness")
        assert page.locator(".ranking tbody tr").count() == 3
    finally:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, server: Served, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(120_000)
    try:
        page = context.new_page()
        for path in ("/datasets/support", "/datasets/broken", "/harness"):
            page.goto(server.address + path)
            assert violations(page) == [], path
    finally:
        context.close()
