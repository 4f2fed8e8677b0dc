"""Labelling in a browser, by keys alone: blind, one sample after the other, and nothing is lost."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect
from seeded_site import large_run, settings_of
from served import served
from watched_page import watched_page
from workspace import Workspace

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from served import Served

pytestmark = pytest.mark.slow
FIELDS = {
    *("run_id", "test_case_id", "sample_id", "attempt", "metric", "value", "reviewer", "created_at", "comment"),
    *("rubric_hash", "answer_hash", "probability", "judge_seen", "withdrawn"),
}
API = "/api/v1/benchmarks"


def made(folder: Path) -> Workspace:
    workspace = Workspace(folder)
    workspace.configure()
    with closing(open_store(settings_of(folder))) as store:
        large_run(store, 40, samples=2)
        large_run(store, 40, run_id="other", samples=2)
    return workspace


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(made(tmp_path_factory.mktemp("labels")), "--no-worker") as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server, dialogs=False) as found:
        yield found


def sent(address: str, path: str, value: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{address}{API}{path}", json.dumps(value).encode(), headers), timeout=120) as answer:
        return json.load(answer)


def started(server: Served, **more: Any) -> tuple[int, str]:
    asked = {"run": "large", "metric": "clarity", "size": 6, "reviewer": "anna", **more}
    number = sent(server.address, "/label-queues", asked)["queue"]["id"]
    return number, f"{server.address}/labels/large?queue={number}"


def signed(page: Page, server: Served, name: str = "anna") -> Page:
    page.goto(f"{server.address}/labels")
    page.evaluate("name => localStorage.setItem('reviewer', name)", name)
    return page


def exported(folder: Path, run: str = "large") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Workspace(folder).run("labels", "export", run).out.splitlines()]


def counted(page: Page, number: int, size: int) -> None:
    """Wait until so many are labelled and the next sample is there."""
    expect(page.locator("[data-progress]")).to_have_text(f"{number} of {size} labelled")
    expect(page.locator("[data-queue]:not([aria-busy])")).to_be_attached()


def test_20_samples_are_labelled_blind_with_the_keyboard_alone_and_exported(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/labels")
    while not page.evaluate("document.activeElement.closest('tr')?.dataset.href === '/labels/large'"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/labels/large$"))
    while page.evaluate("document.activeElement.name") != "size":
        page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("20")
    page.keyboard.press("Tab")
    page.keyboard.type("anna")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("queue="))
    before = len(exported(server.folder))
    for number in range(20):
        counted(page, number, 20)
        expect(page.locator("[data-place]")).to_be_attached()
        assert "because" not in page.locator(".to-label").inner_text()
        if number == 3:
            page.keyboard.press("c")
            page.keyboard.type("too short 4 s u")
            page.keyboard.press("Enter")
        page.keyboard.press("12345"[number % 5])
        expect(page.locator("[data-progress]")).to_have_text(f"{number + 1} of 20 labelled")
        expect(page.locator("[data-after]")).to_contain_text("because")
    expect(page.locator("[data-finished]")).to_contain_text("All 20 samples are labelled.")
    expect(page.locator("[data-agreement]")).to_contain_text("of 20 labels, people and the judge")

    given = exported(server.folder)[before:]
    assert len(given) == len({(line["test_case_id"], line["sample_id"]) for line in given}) == 20
    assert all(set(line) == FIELDS for line in given)
    assert [line["value"] for line in given] == [1.0, 2.0, 3.0, 4.0, 5.0] * 4
    assert {(line["reviewer"], line["judge_seen"], line["probability"]) for line in given} == {("anna", False, 20 / 79)}
    assert [line["comment"] for line in given if line["comment"]] == ["too short 4 s u"]
    assert all(line["answer_hash"] and line["rubric_hash"] for line in given)


def test_undo_skip_and_the_switch_that_shows_the_judge(page: Page, server: Served) -> None:
    number, address = started(server, draw="uncertain", reviewer="dora")  # who has not seen a judge's score before
    before = len(exported(server.folder))
    signed(page, server, "dora").goto(address)
    counted(page, 0, 6)
    first = page.locator(".sample header").inner_text()
    page.keyboard.press("4")
    counted(page, 1, 6)
    page.keyboard.press("u")
    counted(page, 0, 6)
    assert page.locator(".sample header").inner_text() == first
    page.keyboard.press("2")
    counted(page, 1, 6)
    skipped = page.locator(".sample header").inner_text()
    page.keyboard.press("s")
    expect(page.locator(".sample header")).not_to_have_text(skipped)
    counted(page, 1, 6)
    page.keyboard.press("o")
    expect(page.locator("[data-opinion]")).to_contain_text("because")
    counted(page, 1, 6)
    page.locator("[data-do=judge]").click()
    expect(page.locator("[data-opinion]")).to_have_count(0)
    counted(page, 1, 6)
    page.locator("[data-key='5']").click()
    counted(page, 2, 6)

    given = exported(server.folder)[before:]
    assert [(line["value"], line["withdrawn"], line["judge_seen"]) for line in given] == [
        (4.0, False, False),
        (4.0, True, False),
        (2.0, False, True),
        (5.0, False, True),
    ]
    page.goto(f"{address}&view=labelled")
    expect(page.locator("tr[data-href]")).to_have_count(2)
    assert sent(server.address, f"/label-queues/{number}/next", {"reviewer": "ben"})["place"] == 2  # dora skipped it


def test_two_people_at_once_see_different_samples(browser: Browser, page: Page, server: Served) -> None:
    _, address = started(server)
    signed(page, server).goto(address)
    counted(page, 0, 6)
    with watched_page(browser, server, dialogs=False) as other:
        signed(other, server, "ben").goto(address)
        counted(other, 0, 6)
        for number in range(2):
            places = [each.locator("[data-place]").get_attribute("data-place") for each in (page, other)]
            assert len({*places}) == 2
            page.keyboard.press("3")
            counted(page, 2 * number + 1, 6)
            other.keyboard.press("4")
            counted(other, 2 * number + 2, 6)


def test_a_name_is_asked_for_once(page: Page, server: Served) -> None:
    _, address = started(server)
    page.goto(address)
    page.keyboard.type("chris")
    page.keyboard.press("Enter")
    counted(page, 0, 6)
    expect(page.locator("[data-place]")).to_be_attached()
    page.reload()
    counted(page, 0, 6)
    page.keyboard.press("3")
    counted(page, 1, 6)

    assert exported(server.folder)[-1]["reviewer"] == "chris"


@pytest.mark.parametrize("where", ["/runs/other/cases/case-00005", "/compare?a=other&b=large&case=case-00003"])
def test_a_sample_is_labelled_where_it_is_read(page: Page, server: Served, where: str) -> None:
    signed(page, server).goto(server.address + where)
    before = len(exported(server.folder)) + len(exported(server.folder, "other"))
    page.keyboard.press("l")
    expect(page.locator(".quick-form")).to_be_visible()
    page.keyboard.press("2")
    given_here = page.locator("[data-sample]").first.locator(".given")
    expect(given_here).to_contain_text("anna: clarity 2")
    page.reload()
    expect(given_here).to_contain_text("anna: clarity 2")

    given = [*exported(server.folder), *exported(server.folder, "other")]
    assert len(given) == before + 1
    last = max(given, key=lambda line: str(line["created_at"]))
    assert (last["value"], last["judge_seen"], last["probability"]) == (2.0, True, None)


def test_50_labels_survive_a_kill_of_the_server_in_the_middle(tmp_path: Path) -> None:
    workspace = made(tmp_path)
    confirmed: list[tuple[str, int]] = []
    queue = None
    for stop in (25, 50):
        with served(workspace, "--no-worker") as server:
            queue = queue or sent(server.address, "/label-queues", {"run": "large", "metric": "clarity"})["queue"]["id"]
            step = sent(server.address, f"/label-queues/{queue}/next", {"reviewer": "anna"})
            while len(confirmed) < stop:
                given = {"place": step["place"], "value": 3, "reviewer": "anna"}
                step = sent(server.address, f"/label-queues/{queue}/labels", given)
                confirmed.append((step["label"]["case_id"], step["label"]["sample"]))
            server.kill()

    assert step["place"] is None
    stored = {(line["test_case_id"], int(line["sample_id"].rpartition("-")[2]) - 1) for line in exported(tmp_path)}
    assert stored == {*confirmed}
    assert len(stored) == 50
