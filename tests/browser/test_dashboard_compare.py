"""The page that compares runs in a browser: filter by chips, by dragging and by keys, read answers, swap, choose."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from compared_site import METRICS, Planned, add_planned, run_id, store_of
from hostile import HTML
from playwright.sync_api import expect
from served import served
from watched_page import watched_page
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from served import Served


CASES = 40
DROPPED = [f"case-{at:03}" for at in (3, 11, 17, 23, 29, 31, 37)]
BEFORE, AFTER, THIRD, OTHER, BAD_A, BAD_B = 1, 2, 3, 4, 5, 6
GOOD, POOR = [5.0, 4.0, 5.0, 4.0, 5.0], [1.0, 2.0, 1.0, 2.0, 1.0]
TYPICAL = "Open Orders, choose the order and press Refund. The money is back within five days."
SHORTER = "Open Orders, choose the order and press Cancel. The money is back within nine days."
HOSTILE = list(HTML.values())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("compared")
    _fill(folder)
    with served(Workspace(folder), "--no-worker") as found:
        yield found


def _fill(folder: Path) -> None:
    Workspace(folder).configure(version=1)
    with closing(store_of(folder)) as store:
        steady = [_case(at, GOOD, ["Sure, hello!", *[TYPICAL] * 4]) for at in range(CASES)]
        after = [_case(at, POOR, [SHORTER] * 5) if each.case_id in DROPPED else each for at, each in enumerate(steady)]
        add_planned(store, BEFORE, steady, version="v1")
        add_planned(store, AFTER, after, prompt="Be brief.", version="v2")
        third = [_case(0, [], (), errors=5), *steady[1:]]
        add_planned(store, THIRD, third, prompt="Be kind.", version="v3")
        add_planned(store, OTHER, steady, dataset="other")
        for number, texts in ((BAD_A, HOSTILE), (BAD_B, HOSTILE[::-1])):
            cases = [
                Planned({"clarity": GOOD}, [text] * 5, f"{at} {HOSTILE[at][:60]}", {"topic": text, text[:30]: "key"})
                for at, text in enumerate(texts)
            ]
            add_planned(
                store, number, cases, prompt="\n".join(texts), version=texts[0], note=texts[4], tags={"owner": texts[5]}
            )


def _case(at: int, scores: list[float], answers: Any, **more: Any) -> Planned:
    answered = [json.dumps({"a": 1, "b": scores})] * 5 if at == 11 else answers
    measured = dict.fromkeys(METRICS, scores) if scores else {}
    return Planned(measured, answered, f"case-{at:03}", {"topic": ("billing", "delivery")[at % 2]}, **more)


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server, dialogs=False, errors=True) as found:
        yield found


def _open(page: Page, server: Served, a: int = BEFORE, b: int = AFTER, more: str = "") -> None:
    page.goto(f"{server.address}/compare?a={run_id(a)}&b={run_id(b)}{more}")


def _shown(page: Page) -> list[str]:
    page.wait_for_load_state()
    found: list[str] = page.locator("table[data-rows] tbody tr").evaluate_all(
        "(rows) => rows.map((row) => row.dataset.case)"
    )
    return found


def test_the_sentence_comes_first_and_seven_cases_got_worse(page: Page, server: Served) -> None:
    _open(page, server)

    expect(page.locator("h1")).to_contain_text("B is worse than A on clarity")
    expect(page.locator("[data-class=worse].chip")).to_have_text("worse 7")
    assert sorted(_shown(page)[:7]) == DROPPED
    page.locator("[data-class=worse].chip").click()
    expect(page.locator("[data-position]")).to_have_text("1 to 7 of 7 cases")
    expect(page.locator(".filter")).to_have_value("changed:worse")
    assert sorted(_shown(page)) == DROPPED


def test_dragging_over_dots_filters_and_survives_a_reload_and_back(page: Page, server: Served) -> None:
    _open(page, server)
    box = page.locator("[data-scatter]").bounding_box()
    assert box
    page.mouse.move(box["x"] + 60, box["y"] + 140)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 200)
    page.mouse.move(box["x"] + 300, box["y"] + 290)
    page.mouse.up()
    page.wait_for_url(re.compile("q="))
    filtered = page.url

    assert sorted(_shown(page)) == DROPPED
    assert re.fullmatch(r"a>=1\.\d+ b<=2\.\d+", page.locator(".filter").input_value())
    expect(page.locator(".scatter rect.selected")).to_be_visible()
    page.reload()
    assert page.url == filtered
    assert sorted(_shown(page)) == DROPPED
    page.go_back()
    assert len(_shown(page)) == CASES
    page.go_forward()
    assert sorted(_shown(page)) == DROPPED
    page.get_by_role("link", name="all scores").click()
    expect(page.locator(".filter")).to_have_value("")
    assert len(_shown(page)) == CASES


def test_keys_lead_through_the_filtered_cases(page: Page, server: Served) -> None:
    _open(page, server, more="&q=changed:worse")
    order = _shown(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("[data-position]")).to_have_text("2 of 7")
    page.keyboard.press("Enter")
    expect(page.locator("[data-place]")).to_have_text("2 of 7")
    expect(page.locator(".case-name bdi")).to_have_text(order[1])
    for case_id in order[2:]:
        page.keyboard.press("ArrowRight")
        expect(page.locator(".case-name bdi")).to_have_text(case_id)
    expect(page.locator("a[data-next]")).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-place]")).to_have_text("6 of 7")
    page.get_by_role("link", name="all cases").click()
    expect(page.locator("[data-place]")).to_have_count(0)
    assert _shown(page) == order
    page.keyboard.press("/")
    expect(page.locator(".filter")).to_be_focused()


def test_the_runs_can_be_swapped(page: Page, server: Served) -> None:
    _open(page, server)
    page.keyboard.press("s")
    page.wait_for_url(re.compile(f"a={run_id(AFTER)}"))

    expect(page.locator("h1")).to_contain_text("B is better than A on clarity")
    expect(page.locator(".chip[data-class=better]")).to_have_text("better 7")
    page.get_by_role("link", name="swap").click()
    expect(page.locator("h1")).to_contain_text("B is worse than A on clarity")


def test_the_comparison_is_copied_as_markdown_and_as_a_command(page: Page, server: Served) -> None:
    _open(page, server)
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.locator("#said")).to_have_text("Copied.")
    assert "| clarity |" in page.evaluate("navigator.clipboard.readText()").replace("`", "")
    page.locator("[data-copy-of=command]").click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('prompt-evaluator compare'))")


def test_the_page_can_be_read_and_filtered_without_scripts(browser: Browser, server: Served) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    _open(page, server)

    assert page.locator("button:visible").all_inner_texts() == ["Filter", "Filter"]
    page.get_by_label("B at most").fill("2")
    page.locator("form.bounds button").click()
    expect(page.locator("[data-position]")).to_have_text("1 to 7 of 7 cases")
    page.locator("table[data-rows] a").first.click()
    expect(page.locator(".sides del").first).to_be_visible()
    context.close()


def test_answers_stand_side_by_side_with_the_words_that_differ(page: Page, server: Served) -> None:
    _open(page, server, more="&case=case-003")

    sides = page.locator(".sides article")
    expect(sides.nth(0).locator("h3")).to_contain_text("sample 2 of 5 typical")  # the first one is unlike the others
    expect(sides.nth(0).locator("del")).to_have_text(["Refund", "five"])
    expect(sides.nth(1).locator("ins")).to_have_text(["Cancel", "nine"])
    expect(sides.nth(1).locator(".reasons")).to_contain_text("because of case-003")
    page.get_by_role("link", name="inline").click()
    expect(page.locator("pre.marked del")).to_have_text(["Refund", "five"])
    expect(page.locator("pre.marked ins")).to_have_text(["Cancel", "nine"])
    page.get_by_role("link", name="side by side").click()
    page.get_by_role("group", name="Samples of A").get_by_role("link", name="1", exact=True).click()
    expect(sides.nth(0).locator("pre")).to_have_text("Sure, hello!")
    expect(page.get_by_text("The answers have little in common")).to_be_visible()


def test_json_answers_are_compared_by_path(page: Page, server: Served) -> None:
    _open(page, server, more="&case=case-011")
    page.get_by_role("link", name="JSON by path").click()

    expect(page.locator(".paths tbody tr")).to_have_count(5)
    expect(page.locator(".paths tbody tr").first).to_have_text(re.compile(r"b\[0\]\s*5\.0\s*1\.0"))
