"""Bundles of seeded runs, and what a browser does in them without a network."""

from __future__ import annotations

from contextlib import contextmanager
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.stores import ServedSettings, StillStore
from prompt_evaluator.server.bundle.writing import write_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.server.bundle.writing import Written


def bundle(settings: Settings, runs: Sequence[str], out: Path, cases: int | None = None) -> Written:
    """Write a bundle as the command does."""
    served = ServedSettings.of(settings, StillStore)
    try:
        return write_bundle(served, runs, out, cases=cases)
    finally:
        served.opened.close_for_good()


class ParsedPage(HTMLParser):
    """The links, ids and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        """Everything that leads to or loads a file."""
        self.ids: set[str] = set()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.add(str(value))
            if name in ("href", "src", "action", "data-href"):
                self.links.append(str(value))


@contextmanager
def offline_page(browser: Browser, folder: Path, **more: Any) -> Iterator[Page]:
    """A page without a network that may load files of the folder alone, and in which nothing goes wrong."""
    size = more.pop("size", (1400, 900))
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True, **more)
    context.set_default_timeout(60_000)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on(
        "request",
        lambda asked: wrong.append(asked.url) if not asked.url.startswith((folder.as_uri(), "data:")) else None,
    )
    yield page
    context.close()
    assert wrong == [], wrong
