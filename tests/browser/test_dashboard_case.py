"""The page of a case in a browser: one case after the other, sample by sample, in every form, by keys alone."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from case_gallery import FAILING, REFUND, RUN, write_gallery
from playwright.sync_api import expect
from seeded_site import settings_of
from served import served
from watched_page import watched_page
from workspace import Workspace

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from served import Served

TRIAGE = "failing topic:triage"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    workspace = Workspace(tmp_path_factory.mktemp("gallery"))
    workspace.configure()
    with closing(open_store(settings_of(workspace.folder))) as store:
        write_gallery(store)
    with served(workspace, "--no-worker") as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server, dialogs=False) as found:
        yield found


def at(server: Served, case_id: str, **query: str) -> str:
    words = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    return f"{server.address}/runs/{RUN}/cases/{quote(case_id, safe='')}{'?' if words else ''}{words}"


def place(page: Page) -> str:
    return page.locator("[data-place]").inner_text()


def test_37_failures_are_triaged_with_the_keyboard_alone(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/runs/{RUN}?q={quote(TRIAGE)}")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/cases/triage-01"))
    seen = []
    for number in range(1, FAILING + 1):
        expect(page.locator("[data-place]")).to_have_text(f"{number} of {FAILING} in «{TRIAGE}»")
        seen.append(page.locator("h1 .id").inner_text())
        assert quote(seen[-1]) in page.url
        assert page.title().startswith(f"{seen[-1]} · ")
        if number > 1:
            assert page.evaluate("document.activeElement.tagName") == "H1"
        page.keyboard.press("ArrowRight")

    assert seen == [f"triage-{each:02}" for each in range(1, FAILING * 2, 2)]
    assert page.locator("h1 .id").inner_text() == "triage-73"
    page.keyboard.press("ArrowLeft")
    expect(page.locator("h1 .id")).to_have_text("triage-71")


def test_keys_that_are_pressed_quickly_are_all_followed(page: Page, server: Served) -> None:
    page.goto(at(server, "triage-01", q=TRIAGE))
    for _ in range(10):
        page.keyboard.press("ArrowRight")

    expect(page.locator("[data-place]")).to_have_text(f"11 of {FAILING} in «{TRIAGE}»")


def test_back_forward_reload_and_another_tab_show_the_same_case(page: Page, server: Served) -> None:
    page.goto(at(server, "triage-01", q=TRIAGE, sort="-correct"))
    first = page.locator("h1 .id").inner_text()
    page.locator("a[data-next]").click()
    expect(page.locator("h1 .id")).not_to_have_text(first)
    second, address = page.locator("h1 .id").inner_text(), page.url
    page.go_back()
    expect(page.locator("h1 .id")).to_have_text(first)
    assert page.title().startswith(first)
    page.go_forward()
    expect(page.locator("h1 .id")).to_have_text(second)
    page.reload()
    expect(page.locator("h1 .id")).to_have_text(second)
    assert page.url == address
    other = page.context.new_page()
    other.goto(address)

    assert (place(other), other.title()) == (place(page), page.title())


def test_samples_are_stepped_through_by_keys(page: Page, server: Served) -> None:
    page.goto(at(server, "charged-twice"))
    current = page.locator("[data-sample][aria-current]")
    for key, number, words in (
        ("]", 1, "answer 1 of 3"),
        ("]", 2, "answer 2 of 3"),
        ("Shift+ArrowRight", 4, "answer 3 of 3"),
        ("]", 4, "answer 3 of 3"),
        ("[", 2, "answer 2 of 3"),
        ("Shift+ArrowLeft", 1, "answer 1 of 3"),
    ):
        page.keyboard.press(key)
        expect(current).to_have_id(f"sample-{number}")
        expect(page.locator("[data-answer]")).to_have_text(words)
        assert page.evaluate("document.activeElement.id") == f"sample-{number}"
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("previous and next answer of a case")


def test_an_answer_is_read_as_written_as_markdown_and_as_a_difference(page: Page, server: Served) -> None:
    page.goto(at(server, "one-sample"))
    expect(page.locator("article .answer")).to_contain_text("It is **on its way**.")
    page.keyboard.press("v")
    expect(page.locator("article .markdown strong")).to_have_text("on its way")
    expect(page.locator("article .markdown a")).to_have_count(0)
    page.keyboard.press("v")
    expect(page.locator("article .diff ins")).not_to_have_count(0)
    assert "view=diff" in page.url
    page.reload()
    expect(page.locator("article .diff ins")).not_to_have_count(0)
    page.go_back()
    expect(page.locator("article .markdown strong")).to_have_text("on its way")

    page.goto(at(server, "charged-twice", view="diff"))
    page.locator("#sample-1").get_by_text("compare with this").click()
    expect(page.locator("#sample-4 del").first).to_be_visible()
    expect(page.locator("#sample-1 .answer")).to_have_text(REFUND)
    assert "against=sample-1" in page.url


def test_what_the_judge_replied_is_asked_for_when_it_is_unfolded(page: Page, server: Served) -> None:
    page.goto(at(server, "charged-twice"))
    box = page.locator("#sample-2 details[data-load]")
    with page.expect_response(re.compile("judge-replies")):
        box.locator("summary").click()

    expect(box).to_contain_text("No judge replied to this sample.")  # this run was written without its units
