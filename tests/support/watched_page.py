"""A page of the dashboard in a browser, whose faults are noticed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from served import Served


@contextmanager
def watched_page(browser: Browser, server: Served, *, dialogs: bool = True, errors: bool = False) -> Iterator[Page]:
    """A page whose requests are all for the server itself, and in which nothing goes wrong.

    Args:
        browser: Opens it.
        server: The only one that it may ask.
        dialogs: Whether the page may open dialogs.
        errors: Whether anything that the browser calls an error is a fault, not only what its policy refused.
    """
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.address)
    context.set_default_timeout(120_000)
    found = context.new_page()
    wrong: list[str] = []
    found.on("pageerror", lambda error: wrong.append(str(error)))
    found.on(
        "console",
        lambda said: (
            wrong.append(said.text)
            if "Content Security Policy" in said.text or (errors and said.type == "error")
            else None
        ),
    )
    if not dialogs:
        found.on("dialog", lambda dialog: wrong.append(dialog.message))
    found.on(
        "request",
        lambda asked: wrong.append(asked.url) if not asked.url.startswith((server.address, "data:")) else None,
    )
    try:
        yield found
    finally:
        context.close()
    assert wrong == []
