"""Asks axe what a page has against WCAG 2.1 AA."""

from __future__ import annotations

from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING

from playwright.sync_api import Error

if TYPE_CHECKING:
    from playwright.sync_api import Page

_LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
_RUN = """async (wanted) => (await axe.run(document, {runOnly: wanted})).violations
    .map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html.slice(0, 160)).slice(0, 3).join(" | ")}`)"""


def violations(page: Page, *rules: str) -> list[str]:
    """What is wrong, with where; only by some of the rules, or by all."""
    if page.evaluate("typeof axe") == "undefined":
        with suppress(Error):  # a page that follows a run is never idle
            page.wait_for_load_state("networkidle", timeout=3_000)
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found: list[str] = page.evaluate(_RUN, list(rules) or _LEVELS)
    return found
