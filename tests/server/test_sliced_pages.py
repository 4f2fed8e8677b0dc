"""Groups, errors and tables as files: every count leads to as many rows, and a file has what its page has."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from asgi_site import AsgiSite, asgi_site
from entries import each
from sliced_site import BAD, Sliced, fill
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COUNTED = re.compile(r'href="([^"]*)#cases"[^>]*data-n="(\d+)"')
API = "/api/v1/benchmarks"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("sliced")
    Workspace(found).configure(version=1)
    return found


@pytest.fixture(scope="module")
def runs(folder: Path) -> Sliced:
    return fill(folder)


@pytest.fixture(scope="module")
def pages(folder: Path, runs: Sliced) -> Iterator[AsgiSite]:
    assert runs
    with asgi_site(folder, make=False) as made:
        yield made


def _page(site: AsgiSite, address: str) -> str:
    answer = site.send("GET", address, headers=(("accept", "text/html"),))
    assert answer.status == 200, (address, answer.body[:300])
    return answer.body.decode()


def _of(page: str) -> int:
    found = re.search(r'data-position data-first="\d+" data-of="(\d+)"', page)
    assert found
    return int(found[1])


def _csv(site: AsgiSite, address: str) -> list[dict[str, str]]:
    answer = site.send("GET", address)
    assert answer.status == 200, answer.body
    assert (answer.header("content-disposition") or "").startswith("attachment")
    return list(csv.DictReader(io.StringIO(answer.body.decode())))


@each("where", ["/runs/{run}/slices", "/runs/{run}/slices?keys=tags&keys=topic", "/runs/{run}/errors", "/errors"])
def test_a_count_leads_to_as_many_cases(pages: AsgiSite, runs: Sliced, where: str) -> None:
    found = [(html.unescape(href), int(n)) for href, n in COUNTED.findall(_page(pages, where.format(run=runs.run)))]

    assert len(found) >= 2
    for href, count in found:
        assert _of(_page(pages, href)) == count, href


def test_the_heat_map_colours_what_is_hardly_chance_and_hatches_what_is_thin(pages: AsgiSite, runs: Sliced) -> None:
    page = _page(pages, f"/runs/{runs.run}/slices")

    assert re.search(r'<h1 class="say">Cases with topic = billing are worse than the others on clarity by', page)
    assert re.findall(r'<th scope="row"><a [^>]*title="([^"]*)"', page)[0] == "topic = billing"
    assert len(re.findall(r'<td class="cell worse', page)) == 1
    thin = re.findall(r'<td class="cell[^"]* thin">\s*<a [^>]*title="([^"]*)"', page)
    assert len(thin) == 2
    assert all("6 cases" in text and "thin: fewer than 10 cases" in text for text in thin)
    assert "18 cells compared" in page


def test_a_key_that_cannot_be_used_is_said_and_the_others_are_shown(pages: AsgiSite, runs: Sliced) -> None:
    page = _page(pages, f"/runs/{runs.run}/slices?keys=tpoic")

    assert "topic" in (re.search(r'role="alert">([^<]*tpoic[^<]*)<', page) or [""])[0]
    assert "18 cells compared" in page


def test_errors_are_grouped_by_what_their_messages_have_in_common(pages: AsgiSite, runs: Sliced) -> None:
    page = _page(pages, f"/runs/{runs.run}/errors")
    rows = _csv(pages, f"{API}/runs/{runs.run}/export/errors")

    assert [(row["pattern"][:20], row["samples"], row["cases"]) for row in rows] == [
        ("No reply to [id] aft", "6", "6"),
        ("Quota of project [nu", "2", "1"),
    ]
    assert BAD not in page
    assert html.escape(BAD) in page
    assert re.search(r"<bdi>clarity</bdi></td>.*?\d\.\d\d to \d\.\d\d", page, re.DOTALL)
    assert f"prompt-evaluator resume {runs.run} --retry-errors" in page


def test_errors_of_several_runs_are_counted_together(pages: AsgiSite) -> None:
    rows = _csv(pages, f"{API}/export/errors")

    assert {(row["run"][:1], row["pattern"][:8], row["samples"]) for row in rows} == {
        ("a", "No reply", "6"),
        ("b", "No reply", "3"),
        ("a", "Quota of", "2"),
    }
    assert "2 of the newest 2 runs have errors." in _page(pages, "/errors")
    assert "1 of the newest 1 run that match" not in _page(pages, "/errors?q=dataset:none")
    assert "is not closed" in _page(pages, "/errors?q=%22")


@each("q", ["", "failing", "errors", "topic:billing", "clarity>=4 difficulty:hard", "topic:nowhere"])
@each("sort", ["position", "-clarity"])
def test_a_file_has_exactly_the_rows_of_the_filter(pages: AsgiSite, runs: Sliced, q: str, sort: str) -> None:
    page = _page(pages, f"/runs/{runs.run}?q={quote(q)}&sort={sort}&columns=topic")
    file = html.unescape((re.search(r'<a href="([^"]*export/cases[^"]*format=csv)"', page) or ["", ""])[1])
    rows = _csv(pages, file)

    assert len(rows) == _of(page)
    shown = re.findall(r'<tr data-href="/runs/[^/]*/cases/([^"?]*)', page)
    assert [row["case"] for row in rows][: len(shown)] == shown
    assert all(row["topic"] == row["case"][:-3] for row in rows)


def test_files_of_runs_and_groups_have_a_row_for_each(pages: AsgiSite, runs: Sliced) -> None:
    assert {row["run"] for row in _csv(pages, f"{API}/export/runs")} == {runs.run, runs.other}
    cells = _csv(pages, f"{API}/runs/{runs.run}/export/slices?keys=topic")
    assert len(cells) == 8
    assert (cells[0]["value"], cells[0]["metric"], cells[0]["verdict"], cells[0]["thin"]) == (
        "billing",
        "clarity",
        "worse",
        "",
    )
    lines = pages.send("GET", f"{API}/runs/{runs.run}/export/slices?keys=topic&format=jsonl").body.splitlines()
    assert [json.loads(line)["value"] for line in lines] == [cell["value"] for cell in cells]
    assert list(json.loads(lines[0])) == list(cells[0])
    markdown = pages.send("GET", f"{API}/runs/{runs.run}/export/slices?keys=topic&format=markdown").body.decode()
    assert markdown.splitlines()[0].startswith("| key | value | metric | mean |")
    assert len(markdown.splitlines()) == 10
