"""Named views: pages of the dashboard that somebody wants to come back to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.config.loading import Settings

MOST_VIEWS = 200
_LONGEST_NAME = 100
_NOT_IN_ADDRESSES = re.compile(r"[\\\x00-\x20\x7f-\x9f]")


def list_views(settings: Settings) -> tuple[View, ...]:
    """All views, sorted by name."""
    return tuple(open_store(settings).views())


def save_view(settings: Settings, view: View) -> View:
    """Keep a view; one that had its name is replaced.

    Raises:
        ConfigurationError: The name is not allowed, or there are too many views.
    """
    _check_name(view.name)
    if not open_store(settings).save_view(view, most=MOST_VIEWS):
        raise ConfigurationError(f"There are already {MOST_VIEWS} views. Delete one at /views first.")
    return view


def rename_view(settings: Settings, name: str, new: str) -> View:
    """Give a view another name.

    Raises:
        ConfigurationError: The new name is not allowed, or another view has it.
        UnknownNameError: There is no such view.
    """
    _check_name(new)
    renamed = open_store(settings).rename_view(name, new)
    if renamed is None:
        raise ConfigurationError(f"There is already a view {new!r}. Choose another name, or delete that one first.")
    return renamed


def delete_view(settings: Settings, name: str) -> None:
    """Remove a view; raises `UnknownNameError` if there is none of this name."""
    open_store(settings).delete_view(name)


def new_view(name: str, address: str, by: str, pages: Iterable[str]) -> View:
    """A view of an address, which has to be one of our pages.

    Args:
        name: As given.
        address: As given.
        by: Who saves it.
        pages: The paths of all pages, with placeholders such as `{run_id}`.

    Raises:
        ConfigurationError: The address leads elsewhere.
    """
    if not _is_page(address, pages):
        raise ConfigurationError(
            f"{address[:100]!r} is not a page of this dashboard. Give the address from its first slash on, such as "
            "/?q=status:completed."
        )
    return View(name=name.strip(), address=address, saved_at=now(), saved_by=by)


def _is_page(address: str, pages: Iterable[str]) -> bool:
    if not address.startswith("/") or address.startswith("//") or _NOT_IN_ADDRESSES.search(address):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    if parts.scheme or parts.netloc:
        return False
    steps = parts.path.split("/")
    return ".." not in steps and "." not in steps and any(_fits(steps, page.split("/")) for page in pages)


def _fits(steps: list[str], page: list[str]) -> bool:
    return len(steps) == len(page) and all(
        bool(step) if part.startswith("{") else step == part for step, part in zip(steps, page, strict=True)
    )


def _check_name(name: str) -> None:
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name.strip(". ") == "":
        raise ConfigurationError(f"A view's name has to have 1 to {_LONGEST_NAME} printable characters.")
