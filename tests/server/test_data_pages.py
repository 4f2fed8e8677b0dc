"""Pages of datasets and of the harness: no dead link, no folder of the server, numbers as the commands give them."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

import pytest
from asgi_site import AsgiSite, asgi_site
from data_site import CONFIGS, make_data_site
from entries import each
from hostile import HTML

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from data_site import DataSite

_LINK = re.compile(r'<a [^>]*href="([^"]+)"')
_ROW = re.compile(r"<tr data-href")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> DataSite:
    return make_data_site(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def data(made: DataSite) -> Iterator[AsgiSite]:
    with asgi_site(made.folder, make=False) as found:
        yield found


def html(site: AsgiSite, address: str, status: int = 200) -> str:
    answer = site.send("GET", address, headers=(("accept", "text/html"),))
    assert answer.status == status, (address, answer.status, answer.body[:300])
    return answer.body.decode()


def addresses() -> list[str]:
    return [
        "/datasets",
        "/datasets?show=broken",
        "/datasets/support",
        "/datasets/support?at=1",
        "/datasets/support?q=topic:billing",
        "/datasets/broken",
        "/datasets/nothing",
        "/datasets/hostile",
        "/datasets/old-name",
        "/harness",
    ]


def test_every_link_leads_somewhere_and_no_page_says_where_the_server_keeps_its_files(
    data: AsgiSite, made: DataSite
) -> None:
    seen: set[str] = set()
    for address in addresses():
        page = html(data, address)
        assert str(made.folder) not in page, address
        assert len(page) < 200_000, address
        assert not any(text in page for text in HTML.values() if "<" in text), address
        seen |= {urldefrag(urljoin(address, unescape(link)))[0] for link in _LINK.findall(page)}
    for link in sorted(seen)[:: max(1, len(seen) // 30)]:
        assert data.send("GET", link).status == 200, link


def test_a_count_is_the_number_of_rows_behind_it(data: AsgiSite) -> None:
    page = html(data, "/datasets/support")
    counted = re.findall(r'<a class="num" href="([^"]+)">(\d+)</a>', page)

    assert len(counted) == 3
    for link, number in counted:
        assert len(_ROW.findall(html(data, urldefrag(unescape(link))[0]))) == int(number)
    version = re.search(r'<td class="num"><a href="(/\?q=[^"]+)">3</a>', page)
    assert version
    assert len(_ROW.findall(html(data, unescape(version[1])))) == 3


def test_the_harness_says_what_its_files_say(data: AsgiSite, made: DataSite) -> None:
    page = html(data, "/harness")
    board = json.loads((made.folder / "evals/results/leaderboard.json").read_bytes())

    assert [entry["configId"] for entry in board] == ["fallback-router", "baseline", "low-temperature"]
    for entry in board:
        assert f"{entry['taskCompletionRate']:.1f} %" in page
    assert "The gate fails: 1 metric got worse by more than the limit." in page
    assert page.count('<span class="badge pass">pass</span>') == 4 * len(CONFIGS) - 1
    assert f'<a href="/runs/{made.stored}/cases/task-08">' in page


@each(
    ("address", "status"),
    [
        ("/datasets/none", 404),
        ("/datasets/..%2Fsecret", 404),
        ("/datasets/support?at=0", 422),
        ("/datasets/support?at=1000", 200),
        ("/datasets/support?start=100000000", 200),
        ("/datasets/support?start=-1", 422),
        ("/datasets/support?columns=none&columns=topic", 200),
        ("/datasets?start=500", 200),
        ("/?start=support", 200),
    ],
)
def test_odd_requests_get_a_sentence(data: AsgiSite, address: str, status: int) -> None:
    page = html(data, address, status)

    assert "Traceback" not in page


def test_a_run_of_a_dataset_is_started_from_its_page(data: AsgiSite) -> None:
    assert 'href="/?start=support#start"' in html(data, "/datasets/support")
    assert '<option value="dataset:support" selected>' in html(data, "/?start=support")
    assert 'href="/?start=broken' not in html(data, "/datasets")


def test_without_results_the_page_shows_the_command_and_with_a_broken_file_it_says_which(tmp_path: Path) -> None:
    with asgi_site(tmp_path, make=False) as site:
        assert "<pre>prompt-evaluator evals run</pre>" in html(site, "/harness")
        history = tmp_path / "evals/results/history.json"
        history.parent.mkdir(parents=True)
        history.write_text("[{")
        page = html(site, "/harness")

    assert "evals/results/history.json" in page
    assert str(tmp_path) not in page
    assert 'role="alert"' in page
