"""The first page of the dashboard in a browser: start a run, watch it, stop it, compare, by mouse and by keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml
from playwright.sync_api import expect
from seeded_site import seed
from served import served
from watched_page import watched_page
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from seeded_site import Seeded
    from served import Served


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seed(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def server(seeded: Seeded) -> Iterator[Served]:
    """A server in the seeded folder, with a provider that takes its time."""
    config = seeded.folder / "prompt_evaluator.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["providers"]["slow"] = {"kind": "mock", "options": {"latency_ms": 200}}
    config.write_text(yaml.safe_dump(settings))
    with served(Workspace(seeded.folder)) as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server) as found:
        yield found


def test_a_run_is_started_from_the_form_and_watched_until_it_has_ended(page: Page, server: Served) -> None:
    page.goto(server.address)
    page.get_by_text("Start a run").click()
    page.get_by_label("Dataset or suite").select_option("dataset:basic-coding")
    page.get_by_label("Samples").fill("2")
    expect(page.locator("#estimate")).to_have_text(re.compile(r"≈ \d+ calls · \$0 · ≈ "))
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}"))
    run_id = page.url.rpartition("/")[2]

    assert server.client.wait(run_id).status == "completed"
    expect(page.locator("main .status").first).to_have_text("completed")  # the page has come again by itself
    page.goto(server.address)
    row = page.locator(f"tr[data-run='{run_id}']")
    expect(row).to_contain_text("basic-coding")
    expect(row).to_contain_text("completed")


def test_a_run_in_progress_fills_its_bar_and_can_be_cancelled_and_resumed(page: Page, server: Served) -> None:
    run_id = server.client.start_run(
        dataset="support", model="slow/default", rubric="house", metrics=[], samples=100
    ).id
    page.goto(server.address)
    live = page.locator(f".live[data-run='{run_id}']")
    expect(live.locator("[data-part=count]")).to_have_text(re.compile(r"[1-9]\d* of 4800"))
    live.get_by_role("button", name="Cancel").click()
    row = page.locator(f"tr[data-run='{run_id}']")
    expect(row.locator(".status")).to_have_text("aborted")
    assert server.client.run(run_id).stop_reason == "cancelled by local"

    row.get_by_role("button", name="Resume").click()
    expect(page.locator(f".live[data-run='{run_id}']")).to_be_visible()
    server.client.cancel(run_id)
    server.client.wait(run_id)


def test_what_cannot_run_is_said_in_the_form_before_anything_is_started(page: Page, server: Served) -> None:
    page.goto(server.address)
    page.get_by_text("Start a run").click()
    page.get_by_label("Models").fill("openai/gpt-4o")
    page.get_by_role("button", name="Start").click()

    expect(page.locator("#start-refused")).to_contain_text("OPENAI_API_KEY")


def test_each_run_shows_its_change_against_the_baseline_of_its_dataset(
    page: Page, server: Served, seeded: Seeded
) -> None:
    page.goto(server.address)
    better = page.locator(f"tr[data-run='{seeded.better}'] td[data-change]")

    expect(better.locator(".badge")).to_have_text("better")
    expect(better.locator("a")).to_have_attribute("href", f"/compare?a={seeded.baseline}&b={seeded.better}")
    expect(page.locator(f"tr[data-run='{seeded.baseline}']")).to_contain_text("baseline")


def test_a_baseline_is_pinned_and_unpinned_from_the_row(page: Page, server: Served, seeded: Seeded) -> None:
    page.goto(server.address)
    row = page.locator(f"tr[data-run='{seeded.benchmark}']")
    row.locator("summary").click()
    row.get_by_role("button", name="Pin as baseline").click()
    expect(row.locator(".tag", has_text="baseline")).to_have_count(1)
    row.locator("summary").click()
    row.get_by_role("button", name="Unpin as baseline").click()
    expect(row.locator(".tag", has_text="baseline")).to_have_count(0)


def test_two_runs_are_selected_with_keys_and_compared(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/?q=dataset:support")
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(page.locator("#compare-selected")).to_have_text("Compare 2 selected")
    chosen = page.locator("tbody tr:has(input:checked)")
    newer, older = chosen.nth(0).get_attribute("data-run"), chosen.nth(1).get_attribute("data-run")

    expect(page.locator("#compare-selected")).to_have_attribute("href", f"/compare?a={older}&b={newer}")


def test_keys_are_explained_and_pages_are_reached_by_the_palette(page: Page, server: Served) -> None:
    page.goto(server.address)
    page.keyboard.press("?")
    expect(page.locator("dialog#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("small")
    expect(page.locator("#palette li a")).to_have_count(1)
    page.keyboard.press("Enter")

    page.wait_for_url(re.compile(r"/runs/"))
