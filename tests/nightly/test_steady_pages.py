"""Nothing on a page moves while it comes in over a poor line, and none scrolls sideways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seeded_site import seed
from served import served
from steady import what_moves
from workspace import Workspace

from browser import running_browser

if TYPE_CHECKING:
    from pathlib import Path

PAGES = (
    "/",
    "/runs/{with_errors}",
    "/runs/{better}?q=flaky#cases",
    "/runs/{better}/cases/returns-007",
    "/compare?a={baseline}&b={better}",
    "/compare?a={baseline}&b={better}&view=matrix",
    "/datasets/support",
    "/leaderboard?dataset=support",
)


def test_nothing_moves_while_a_page_comes_in(tmp_path: Path) -> None:
    seeded = seed(tmp_path)
    names = {key: value for key, value in seeded._asdict().items() if isinstance(value, str)}
    with served(Workspace(tmp_path), "--no-worker") as server, running_browser() as browser:
        moved = {
            path: found
            for path in PAGES
            if (found := what_moves(browser.new_page(), server.address + path.format(**names)))
        }

    assert moved == {}
