"""Debian's Chromium, driven by Playwright, without a network; and what a page did in it."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog, Keyboard

REQUIRED = "PROMPT_EVALUATOR_TEST_CHROMIUM"
"""A variable: when it is `required`, a machine without Chromium fails the tests instead of skipping them."""
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_SECONDS = 120_000
expect.set_options(timeout=_SECONDS)  # the usual 5 s are too few where all cores are busy
_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


_keyboard_of = vars(Page)["keyboard"].fget


def _keyboard_once_loaded(page: Page) -> Keyboard:
    """A key that is pressed before a page's scripts have run is lost, in tests as at a desk."""
    page.wait_for_load_state("load")
    found: Keyboard = _keyboard_of(page)
    return found


Page.keyboard = property(_keyboard_once_loaded)  # type: ignore[method-assign, assignment]


def chromium() -> str | None:
    """The program, preferably one without a user interface, which takes half the time."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser for a whole session of tests; they are skipped where there is none."""
    program = chromium()
    if program is None:
        said = "no chromium here: install it, such as Debian's package `chromium-headless-shell`"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(f"{said} ({REQUIRED}=required)")
        pytest.skip(said)
    with launched(program) as browser:
        yield browser


@contextmanager
def launched(program: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Opened:
    """A page, and all it tried to do."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """Errors of scripts and on the console, and dialogs."""

    @property
    def violations(self) -> list[str]:
        """Of the content security policy."""
        found: list[str] = self.page.evaluate("window.violations")
        return found

    @property
    def outside(self) -> list[str]:
        """Requests for anything but the page itself."""
        return [url for url in self.requests if url != self.page.url.split("#")[0]]

    def refuse(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def wider_than(self, width: int) -> list[str]:
        """Elements that make the page scroll sideways; those in a container that scrolls do not."""
        if self.page.evaluate("document.documentElement.scrollWidth") <= width:
            return []
        found: list[str] = self.page.evaluate(_WIDE, width)
        return found or ["the page itself"]


_WIDE = """(width) => [...document.querySelectorAll("body *")].filter((each) =>
    each.getBoundingClientRect().right > width + 1 && !each.parentElement.closest(".scroll, .chart, nav, pre"))
    .slice(0, 5).map((each) => `${each.tagName} ${each.className} in ${each.closest("section")?.id}`)"""


@contextmanager
def opened(browser: Browser, path: Path, **more: Any) -> Iterator[Opened]:
    """The page of a file in a browser without a network, once its scripts are done."""
    width, height = more.pop("size", (1400, 900))
    storage = more.pop("storage", True)
    media = more.pop("media", None)
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **more)
    context.set_default_timeout(_SECONDS)
    try:
        page = context.new_page()
        found = Opened(page)
        page.on("request", lambda request: found.requests.append(request.url))
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on("dialog", found.refuse)
        page.on("console", lambda said: found.complaints.append(said.text) if said.type == "error" else None)
        page.add_init_script(_VIOLATIONS)
        if not storage:
            page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('none'); }})")
        if media:
            page.emulate_media(media=media)
        page.goto(path.as_uri())
        if more.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        yield found
    finally:
        context.close()
