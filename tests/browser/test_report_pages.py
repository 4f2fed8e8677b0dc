"""Reports in a real browser, from disk, with the network cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from chart_samples import EVERY_KIND
from hostile import HOSTILE, MARK
from html_reports import (
    big_report,
    charts,
    compare_report,
    hostile_comparison,
    hostile_report,
    little_report,
    run_report,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser import Opened

    Show = Callable[..., Opened]

TEXTS = list(HOSTILE.values())
REPORTS: dict[str, Callable[[], Any]] = {
    "a run": lambda: run_report(charts=charts(list(EVERY_KIND))),
    "two runs": compare_report,
    "little": little_report,
    "far too much": big_report,
    "a hostile run": lambda: hostile_report(TEXTS),
    "hostile runs": lambda: hostile_comparison(TEXTS),
}
A4_WITHIN_MARGINS = 703
"""Pixels."""


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_leaves_nothing_fails_and_nothing_is_refused(show: Show, name: str) -> None:
    found = show(REPORTS[name]())

    assert found.outside == []
    assert found.complaints == []
    assert found.violations == []


@pytest.mark.parametrize("name", ["a hostile run", "hostile runs"])
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_what_a_model_wrote_does_nothing(show: Show, name: str, *, scripts: bool) -> None:
    found = show(REPORTS[name](), java_script_enabled=scripts)

    page = found.page
    assert (
        page.locator("iframe, img, form:not(.vega-bindings), input, object, embed, base, link, style ~ style").count()
        == 0
    )
    assert page.locator("a:not([href^='#'])").count() == 0
    assert page.locator("h1").count() == 1
    if scripts:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate(f"[window.{MARK}, Object.prototype.{MARK}]") == [None, None]
        assert found.violations == []


@pytest.mark.parametrize("look", ["light", "dark"])
def test_every_chart_is_drawn(show: Show, look: str) -> None:
    kinds = list(EVERY_KIND)
    found = show(run_report(charts=charts(kinds)), color_scheme=look)

    drawn = found.page.locator(f"figure .for-{look} svg")
    assert drawn.count() == len(kinds)
    assert all(drawn.nth(at).is_visible() for at in range(len(kinds)))
    marks = [
        drawn.nth(at).locator(".mark-group path, .mark-symbol path, .mark-rect path").count()
        for at in range(len(kinds))
    ]
    assert all(marks)


def test_a_chart_says_more_about_what_is_pointed_at(show: Show) -> None:
    found = show(run_report())

    found.page.locator("figure[data-chart='chart-1'] .mark-rect path").last.hover()

    tooltip = found.page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert "samples" in tooltip.inner_text()
    assert found.violations == []


@pytest.mark.parametrize("name", REPORTS)
def test_no_page_scrolls_sideways(show: Show, name: str) -> None:
    found = show(REPORTS[name]())

    for width in (360, 390, 768, 1400, 2560):
        found.page.set_viewport_size({"width": width, "height": 900})
        assert found.wider_than(width) == []


@pytest.mark.parametrize("kind", ["metrics", "distribution", "differences"])
def test_a_chart_fits_on_a_telephone(show: Show, kind: str) -> None:
    found = show(run_report(charts=charts([kind])), size=(390, 800))

    drawn, page = (found.page.locator(name).first.bounding_box() for name in (".for-light svg", "figure"))
    assert drawn
    assert page
    assert drawn["width"] <= page["width"]


@pytest.mark.parametrize("name", ["a run", "two runs"])
def test_a_printed_page_has_all_that_is_folded_and_no_buttons(show: Show, name: str) -> None:
    found = show(REPORTS[name](), size=(A4_WITHIN_MARGINS, 1000), media="print", color_scheme="dark")

    page = found.page
    texts = page.locator("details:not(.numbers) pre")
    assert texts.count() > 5
    assert all(texts.nth(at).bounding_box() for at in range(texts.count()))
    assert page.locator("button:visible, nav:visible").count() == 0
    assert page.locator(".for-light svg:visible").count() == page.locator("figure").count()
    assert page.locator(".for-dark svg:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert found.wider_than(A4_WITHIN_MARGINS) == []
    assert page.evaluate(_TABLES_TOO_WIDE, A4_WITHIN_MARGINS) == []
    assert page.pdf(format="A4").startswith(b"%PDF")


_TABLES_TOO_WIDE = """(width) => [...document.querySelectorAll("table, .chart svg")].filter((each) =>
    each.getBoundingClientRect().right > width + 1).map((each) => each.closest("section").id)"""


def test_a_page_can_be_read_without_scripts(show: Show) -> None:
    found = show(run_report(), java_script_enabled=False)

    page = found.page
    assert page.locator("h1").is_visible()
    assert page.locator("#metrics table").is_visible()
    assert page.locator(".case pre").first.is_visible()
    folded = page.locator(".case").nth(1)
    assert not folded.locator("pre").first.is_visible()
    folded.locator("summary").first.click()
    assert folded.locator("pre").first.is_visible()
    assert page.locator("button:visible").count() == 0
    assert "JavaScript, which is off" in page.locator("#charts").inner_text()


@pytest.mark.parametrize("storage", [True, False], ids=["remembered", "without storage"])
def test_the_theme_can_be_switched(show: Show, *, storage: bool) -> None:
    found = show(run_report(), storage=storage, color_scheme="light")

    page = found.page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) == light
    page.locator("#theme").click()
    dark = page.evaluate(ground)
    page.wait_for_selector("figure:last-of-type .for-dark svg")
    if storage:
        page.reload()
        assert page.evaluate(ground) == dark

    assert dark != light
    assert found.complaints == []


def test_the_page_follows_the_system(show: Show) -> None:
    found = show(run_report(), color_scheme="dark")

    assert found.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 29)"


def test_the_keyboard_is_enough(show: Show) -> None:
    found = show(run_report())

    page = found.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    case = page.locator(".case").nth(1)
    case.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert case.locator("pre").first.is_visible()
    scrolls = page.locator(".scroll")
    assert all(scrolls.nth(at).get_attribute("tabindex") == "0" for at in range(scrolls.count()))


def test_the_command_can_be_copied(show: Show) -> None:
    found = show(run_report())

    button = found.page.locator("#reproduce .copy").first
    button.click()
    found.page.wait_for_function("(each) => each.textContent !== 'Copy'", arg=button.element_handle())

    assert button.inner_text() in ("Copied", "Selected")
    assert found.complaints == []


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("name", ["a run", "two runs"])
def test_texts_stand_out_from_their_ground(show: Show, name: str, look: str) -> None:
    found = show(REPORTS[name](), color_scheme=look)

    found.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    assert found.page.evaluate(_CONTRAST) == []


_CONTRAST = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * light(r / 255) + 0.7152 * light(g / 255) + 0.0722 * light(b / 255);
  const ground = (each) => {
    for (; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  for (const each of document.querySelectorAll("body *")) {
    if (each.closest("svg") || ![...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (!each.checkVisibility()) continue;
    const [a, b] = [numbers(getComputedStyle(each).color), ground(each)].map(luminance).sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) poor.add(`${each.tagName}.${each.className} ${contrast.toFixed(2)}`);
  }
  return [...poor];
}"""
