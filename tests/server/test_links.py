"""Every link of every page leads somewhere, and a number that is a link is the number of rows behind it."""

from __future__ import annotations

import re
from collections import deque
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from asgi_site import AsgiSite, asgi_site
from seeded_site import seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seeded_site import Seeded

MOST = 300
"""Addresses to look at; more would show the same cases in other orders."""
_COUNTED = re.compile(r"(Failing|Flaky|Flagged|Errors|worse|better|same|cannot tell) (\d+)")
_PROBLEMS = re.compile(r"/runs/([^/?]+)\?q=(flaky|errors)#cases")


class _Page(HTMLParser):
    """The links and the ids of a page, and the texts of chips."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.chips: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        """Of all links."""
        self.rows = 0
        self._chip: str | None = None
        self._link: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.add(str(given["id"]))
        if tag == "a" and given.get("href"):
            self._link = str(given["href"])
            self.links.append(self._link)
            self._chip = str(given["href"]) if "chip" in (given.get("class") or "").split() else None
        if tag == "tr" and given.get("data-href"):
            self.rows += 1

    def handle_data(self, data: str) -> None:
        if self._link:
            self.texts[self._link] = self.texts.get(self._link, "") + data
        if self._chip:
            self.chips[self._chip] = self.chips.get(self._chip, "") + data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._chip = self._link = None


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seed(tmp_path_factory.mktemp("seeded"))


@pytest.fixture(scope="module")
def pages(seeded: Seeded) -> Iterator[AsgiSite]:
    with asgi_site(seeded.folder, make=False) as made:
        yield made


def _html(site: AsgiSite, address: str) -> _Page | None:
    answer = site.send("GET", address, headers=(("accept", "text/html"),))
    assert answer.status == 200, f"{address}: {answer.status} {answer.body[:200]!r}"
    is_page = (answer.header("content-type") or "").startswith("text/html") and not address.startswith("/api/")
    return _Page(answer.body.decode()) if is_page else None


def test_no_link_is_dead_and_none_leads_away(pages: AsgiSite) -> None:
    starts = ["/", "/compare", "/leaderboard", "/trends", "/datasets", "/harness"]
    waiting, seen = deque(starts), {*starts}
    while waiting and len(seen) < MOST:
        address = waiting.popleft()
        page = _html(pages, address)
        for link in page.links if page else ():
            target, fragment = urldefrag(urljoin(address, link))
            parts = urlsplit(target)
            assert not parts.scheme, f"{address} leads to {link}"
            assert not parts.netloc, f"{address} leads to {link}"
            if page and fragment and (not target or target == address):
                assert fragment in page.ids, f"{address} has no {fragment}"
            if target and target not in seen:
                seen.add(target)
                waiting.append(target)

    assert len(seen) > 200
    assert {address.split("?")[0].split("/")[1] for address in seen} >= {
        "",
        "runs",
        "compare",
        "leaderboard",
        "trends",
        "datasets",
        "harness",
        "api",
    }


@pytest.mark.parametrize("run", ["better", "with_errors", "aborted", "benchmark", "hostile"])
def test_a_count_that_is_a_link_is_the_number_of_rows_behind_it(pages: AsgiSite, seeded: Seeded, run: str) -> None:
    page = _html(pages, f"/runs/{getattr(seeded, run)}")
    assert page
    counted = [(href, int(match[2])) for href, text in page.chips.items() if (match := _COUNTED.search(text))]

    assert len(counted) >= 3
    for href, count in counted:
        shown = _html(pages, urldefrag(urljoin(f"/runs/{getattr(seeded, run)}", href))[0])
        assert shown
        assert shown.rows == min(count, 50), href


def test_problems_of_the_runs_on_the_first_page_are_counted_in_cases(pages: AsgiSite, seeded: Seeded) -> None:
    page = _html(pages, "/")
    assert page
    counted = {href: text for href, text in page.texts.items() if _PROBLEMS.search(href)}

    assert {seeded.with_errors, seeded.better} <= {_PROBLEMS.search(href)[1] for href in counted}  # type: ignore[index]
    assert sum("errors" in href for href in counted) >= 1
    for href, text in counted.items():
        shown = _html(pages, urldefrag(href)[0])
        assert shown
        assert shown.rows == min(int(text.partition("/")[0]), 50), href
