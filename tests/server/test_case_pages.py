"""The page of a case over HTTP: small, whole without scripts, and at an address of its own whatever its id."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from asgi_site import AsgiSite, asgi_site
from case_gallery import HOSTILE, REFUND, RUN, write_gallery
from entries import each

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 200_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsgiSite]:
    with asgi_site(tmp_path_factory.mktemp("site")) as made:
        write_gallery(made.site.settings.opened)
        yield made


def page(site: AsgiSite, case_id: str, query: str = "") -> str:
    answer = site.ask("GET", f"/runs/{RUN}/cases/{quote(case_id, safe='')}{query}")
    assert answer.status == 200, answer.body
    return answer.body.decode()


@each("view", ["text", "markdown", "diff"])
@each("case_id", ["charged-twice", "fifty", "long", "broken", "tools", "json", "pending"])
def test_a_page_is_small_and_has_no_script_or_style_of_its_own(site: AsgiSite, case_id: str, view: str) -> None:
    found = page(site, case_id, f"?view={view}")

    assert len(found.encode()) < LARGEST
    assert " style=" not in found
    assert re.findall(r"<script(?![^>]* src=)", found) == []


def test_everything_is_in_the_page_itself(site: AsgiSite) -> None:
    found = unescape(page(site, "charged-twice", "?q=flaky"))

    for words in (
        REFUND,
        "3 alike",
        "samples 1, 3, 5",
        "4.40 to 4.60",
        "gallery.yaml:14",
        "412 in · 38 out",
        "3 tries",
    ):
        assert words in found
    assert "1 of " in found
    assert " in «flaky»" in found


@each("at", range(len(HOSTILE)))
def test_any_id_has_an_address(site: AsgiSite, at: int) -> None:
    case_id = f"{at} {HOSTILE[at][:60]}"

    found = page(site, case_id)

    assert f"{9 + at + 1} of " in found
    for link in re.findall(r'data-(?:next|previous)[^>]* href="([^"]*)"', found):
        assert site.ask("GET", unescape(link)).status == 200
    replies = re.findall(r'data-load="([^"]*)"', found)
    assert replies
    assert site.ask("GET", unescape(replies[0])).json["test_case_id"] == case_id


def test_a_slash_in_an_id_is_not_a_separator(site: AsgiSite) -> None:
    assert site.ask("GET", f"/runs/{RUN}/cases/a%2Fb").status == 404
    assert b"test case &#39;a/b&#39;" in site.ask("GET", f"/runs/{RUN}/cases/a%2Fb").body
    assert b"nothing at this address" in site.ask("GET", f"/runs/{RUN}/cases/a/b").body


def test_an_unknown_case_run_or_sample_is_a_page_with_a_sentence(site: AsgiSite) -> None:
    for path, sentence in (
        (f"/runs/{RUN}/cases/charged-twise", "There is no test case 'charged-twise'. Did you mean 'charged-twice'?"),
        ("/runs/nowhere/cases/x", "There is no run 'nowhere'."),
        (f"/runs/{RUN}/cases/charged-twice?sample=77", "There is no sample '77'."),
    ):
        answer = site.ask("GET", path)
        assert answer.status == 404
        assert (answer.header("content-type") or "").startswith("text/html")
        assert sentence in unescape(answer.body.decode())


def test_a_filter_that_cannot_be_read_is_said_on_the_page(site: AsgiSite) -> None:
    assert "not closed" in page(site, "charged-twice", "?q=%22open")


def test_every_link_of_a_page_opens(site: AsgiSite) -> None:
    for case_id in ("charged-twice", "fifty", "long", "broken"):
        found = page(site, case_id, "?q=topic:delivery&view=diff")
        for link in {unescape(link) for link in re.findall(r'href="(/[^"#]*)', found)}:
            assert site.ask("GET", link).status == 200, link
        for anchor in re.findall(r'href="#([^"]+)"', found):
            assert f'id="{anchor}"' in found


def test_what_a_judge_replied_is_read_from_the_units(site: AsgiSite) -> None:
    run_id = site.run_ids[0]
    results = site.ask("GET", f"/api/v1/benchmarks/runs/{run_id}/results?limit=1").json
    case_id = results["test_case_results"][0]["test_case_id"]
    address = f"/api/v1/benchmarks/runs/{run_id}/cases/{quote(case_id, safe='')}/judge-replies"

    answer = site.ask("GET", address)

    assert answer.status == 200
    assert {*answer.json} == {"run_id", "test_case_id", "replies"}
    for reply in answer.json["replies"]:
        assert {*reply} == {"sample", "attempt", "repeat", "metric", "reply", "error"}
    assert site.ask("GET", f"{address}?sample=99").json["replies"] == []
    assert site.ask("GET", f"{address}?sample=-1").status == 422
    assert site.ask("GET", address.replace(quote(case_id, safe=""), "nope")).status == 404
