"""Reports in a real browser, from disk, with the network cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import chart_samples
import msgspec
import pytest
from axe import violations
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

from prompt_evaluator.reports.charts import make_chart

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
_FOREIGN = "iframe, img, form:not(.vega-bindings), input, object, embed, base, link, style ~ style"


def test_no_report_asks_anybody_or_is_too_wide_and_all_are_for_everybody(show: Show) -> None:
    wrong: dict[str, list[Any]] = {}
    for name, report in REPORTS.items():
        found = show(report())
        said = [*found.outside, *found.complaints, *found.violations]
        if name in ("a run", "two runs"):
            found.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            said += violations(found.page)
        for width in (360, 768, 1400):
            found.page.set_viewport_size({"width": width, "height": 900})
            said += found.wider_than(width)
        wrong |= {name: said} if said else {}

    assert wrong == {}


def test_what_a_model_wrote_does_nothing(show: Show) -> None:
    drawn = tuple(make_chart(data) for data in chart_samples.hostile().values())
    for report in (msgspec.structs.replace(hostile_report(TEXTS), charts=drawn), hostile_comparison(TEXTS)):
        found = show(report)
        figures = found.page.locator("figure .for-light svg")
        assert figures.count() == len(report.charts)
        assert all(figures.nth(at).locator("text").count() > 5 for at in range(len(drawn)) if report.charts is drawn)
        found.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

        assert found.page.evaluate(f"[window.{MARK}, Object.prototype.{MARK}]") == [None, None]
        assert found.page.locator(_FOREIGN).count() == 0
        assert found.page.locator("a:not([href^='#'])").count() == 0
        assert found.page.locator("h1").count() == 1
        assert (found.violations, found.complaints) == ([], [])


def test_every_chart_is_drawn_in_both_themes(show: Show) -> None:
    kinds = list(EVERY_KIND)
    for look in ("light", "dark"):
        found = show(run_report(charts=charts(kinds)), color_scheme=look)
        drawn = found.page.locator(f"figure .for-{look} svg")
        assert drawn.count() == len(kinds), look
        for at, kind in enumerate(kinds):
            assert drawn.nth(at).is_visible(), kind
            assert drawn.nth(at).locator(".mark-group path, .mark-symbol path, .mark-rect path").count(), kind
        assert violations(found.page, "color-contrast") == [], look


def test_a_chart_says_more_about_what_is_pointed_at(show: Show) -> None:
    found = show(run_report())

    found.page.locator("figure[data-chart='chart-1'] .mark-rect path").last.hover()

    tooltip = found.page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert "samples" in tooltip.inner_text()
    assert found.violations == []


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
