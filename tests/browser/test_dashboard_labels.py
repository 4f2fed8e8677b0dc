"""Labelling in a browser, by keys alone: blind, one answer after the other, and nothing is lost."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from seeded_site import large_run, settings_of
from served import served
from watched_page import watched_page
from workspace import Workspace

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from served import Served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    workspace = Workspace(tmp_path_factory.mktemp("labels"))
    workspace.configure()
    with closing(open_store(settings_of(workspace.folder))) as store:
        large_run(store, 40, samples=2)
        large_run(store, 40, run_id="other", samples=2)
    with served(workspace, "--no-worker") as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server, dialogs=False) as found:
        yield found


def exported(server: Served, run: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Workspace(server.folder).run("labels", "export", run).out.splitlines()]


def test_answers_are_labelled_blind_with_the_keyboard_alone_and_the_judge_comes_after(
    page: Page, server: Served
) -> None:
    page.goto(f"{server.address}/runs/large/label")
    while page.evaluate("document.activeElement.name") != "count":
        page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("6")
    page.keyboard.press("Tab")
    page.keyboard.type("anna")
    page.keyboard.press("Enter")
    for number in range(5):
        expect(page.locator("[data-progress]")).to_have_text(f"{number} of 6 labelled")
        expect(page.locator(".quick-form")).to_be_visible()
        assert "because" not in page.locator(".to-label").inner_text()
        if number == 3:
            page.keyboard.press("c")
            page.keyboard.type("too short 4 s u")
            page.keyboard.press("Enter")
        page.keyboard.press("12345"[number])
        expect(page.locator("[data-after]")).to_contain_text("because")
    expect(page.locator("[data-agreement]")).to_contain_text("of 5 labels, people")
    page.keyboard.press("s")
    expect(page.locator("[data-finished]")).to_contain_text("5 of 6 answers labelled")

    given = exported(server, "large")
    assert len({(line["test_case_id"], line["sample_id"]) for line in given}) == 5
    assert [line["value"] for line in given] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert {(line["reviewer"], line["judge_seen"], line["probability"]) for line in given} == {("anna", False, 6 / 79)}
    assert [line["comment"] for line in given if line["comment"]] == ["too short 4 s u"]
    assert all(line["answer_hash"] and line["rubric_hash"] for line in given)


@pytest.mark.parametrize("where", ["/runs/other/cases/case-00005", "/compare?a=other&b=large&case=case-00003"])
def test_a_sample_is_labelled_where_it_is_read(page: Page, server: Served, where: str) -> None:
    page.goto(server.address + where)
    page.evaluate("localStorage.setItem('reviewer', 'anna')")
    before = len(exported(server, "other"))
    page.keyboard.press("l")
    expect(page.locator(".quick-form")).to_be_visible()
    page.keyboard.press("2")
    given_here = page.locator("[data-sample]").first.locator(".given")
    expect(given_here).to_contain_text("anna: clarity 2")
    page.reload()
    expect(given_here).to_contain_text("anna: clarity 2")

    given = exported(server, "other")
    assert len(given) == before + 1
    assert (given[-1]["value"], given[-1]["judge_seen"], given[-1]["probability"]) == (2.0, True, None)
