"""Groups, errors and copies in a browser, as somebody uses them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from served import Served, served
from sliced_site import BAD, Sliced, fill
from watched_page import watched_page
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page


_PICTURE = """async () => {
    const [item] = await navigator.clipboard.read();
    const image = await createImageBitmap(await item.getType("image/png"));
    const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
    pen.drawImage(image, 0, 0);
    const { data } = pen.getImageData(0, 0, image.width, image.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return [image.width, image.height, colours.size];
}"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    found = Workspace(tmp_path_factory.mktemp("sliced"))
    found.configure(version=1)
    return found


@pytest.fixture(scope="module")
def runs(workspace: Workspace) -> Sliced:
    return fill(workspace.folder)


@pytest.fixture(scope="module")
def server(workspace: Workspace, runs: Sliced) -> Iterator[Served]:
    assert runs
    with served(workspace, "--no-worker") as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server, dialogs=False) as found:
        yield found


def _copied(page: Page) -> str:
    expect(page.locator("#said")).to_contain_text("Copied")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_cell_opens_the_cases_that_it_counts(page: Page, server: Served, runs: Sliced) -> None:
    page.goto(f"{server.address}/runs/{runs.run}")
    page.get_by_role("link", name="All groups and metrics as a heat map").click()
    cell = page.locator(".heat td.worse a")
    expect(cell).to_contain_text("worse")
    expect(cell).to_have_attribute("title", re.compile("corrected"))
    count = int(cell.get_attribute("data-n") or "")
    cell.click()

    expect(page.get_by_label("Filter cases")).to_have_value(re.compile("topic:billing"))
    expect(page.locator("table.cases tbody tr")).to_have_count(count)
    assert count == 18


def test_errors_lead_to_their_cases_and_are_tried_again_by_a_button(page: Page, server: Served, runs: Sliced) -> None:
    page.goto(f"{server.address}/runs/{runs.run}")
    page.get_by_role("link", name="Errors by message").click()
    rows = page.locator("table.errors tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("No reply to [id] after [number] s, since [time]")
    rows.nth(1).get_by_text("example", exact=True).click()
    expect(rows.nth(1).locator("pre")).to_contain_text(BAD)
    with page.expect_request(lambda sent: sent.method == "PATCH") as sent:
        page.get_by_role("button", name="Retry what failed").click()
    assert sent.value.post_data_json == {"action": "resume", "retry_errors": True}
    page.goto(f"{server.address}/runs/{runs.run}/errors")
    rows.first.locator("a[data-n]").click()

    expect(page.locator("table.cases tbody tr")).to_have_count(6)


def test_tables_are_copied_as_markdown(page: Page, server: Served, runs: Sliced) -> None:
    for where in ("/", "/runs/{run}?q=topic:billing", "/runs/{run}/slices", "/runs/{run}/errors", "/errors"):
        page.goto(server.address + where.format(run=runs.run))
        page.get_by_role("button", name="Copy as Markdown").click()
        copied = _copied(page).splitlines()

        assert copied[0].startswith("| "), where
        assert set(copied[1]) <= set("|- ")
        assert len(copied) > 3
        assert not any(BAD in line for line in copied)


def test_a_command_is_copied_where_one_gives_the_same(page: Page, server: Served, runs: Sliced) -> None:
    page.goto(f"{server.address}/runs/{runs.run}?q=failing")
    page.locator("#cases").get_by_role("button", name="copy", exact=True).click()

    assert _copied(page) == f"prompt-evaluator runs show {runs.run} --failing"
    page.goto(f"{server.address}/runs/{runs.run}?q=topic:billing")
    expect(page.locator("#command")).to_have_count(0)


def test_figures_are_copied_as_pictures(page: Page, server: Served, runs: Sliced) -> None:
    for where in ("/runs/{run}/slices", "/compare?a={run}&b={other}&different=1"):
        page.goto(server.address + where.format(**runs._asdict()))
        page.get_by_role("button", name="Copy as PNG").click()
        expect(page.locator("#said")).to_contain_text("Copied as a picture")
        width, height, colours = page.evaluate(_PICTURE)

        assert width > 500, where
        assert height > 400
        assert colours > 20
