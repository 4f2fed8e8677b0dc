"""A run's cases filtered by how they changed against the baseline: the same cases as `compare --json` names."""

from __future__ import annotations

import html
import re
from contextlib import closing
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from asgi_site import AsgiSite, asgi_site
from compared_site import METRICS, Planned, add_planned, random_cases, run_id, store_of
from entries import each
from seeded_site import large_run
from workspace import Workspace

from prompt_evaluator.app.baselines import pin_baseline, unpin_baseline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


RUNS = 6
OTHER, STEADY, DROPPED = 20, 21, 22
LARGE = ("large-a", "large-b")
GOOD, POOR = [5.0, 4.0, 5.0, 4.0, 5.0], [1.0, 2.0, 1.0, 2.0, 1.0]
_CHIP = re.compile(r'data-change-chip="(\w+)" href="([^"]+)"[^>]*>[a-z ]+<span class="num">([\d,]+|…)</span>')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsgiSite]:
    folder = tmp_path_factory.mktemp("changed")
    _fill(folder)
    with asgi_site(folder, make=False) as made:
        yield made


def _fill(folder: Path) -> None:
    random = Random(5)
    Workspace(folder).configure(version=1)
    steady = [Planned({"clarity": GOOD, "warmth": GOOD}, metadata={"topic": "ab"[at % 2]}) for at in range(60)]
    dropped = [
        each._replace(scores={"clarity": POOR if at < 56 else GOOD, "warmth": GOOD}) for at, each in enumerate(steady)
    ]
    with closing(store_of(folder)) as store:
        for number in range(RUNS):
            cases = random_cases(random, 40, samples=random.choice((1, 5, 8)), spread=0.4, drift=1.5 - number % 3)
            add_planned(store, number, cases, dataset="random")
        add_planned(store, STEADY, steady)
        add_planned(store, DROPPED, dropped)
        add_planned(store, OTHER, steady, dataset="alone")
        for name in LARGE:
            large_run(store, 2_001, name, samples=2)


def _page(site: AsgiSite, path: str) -> str:
    answer = site.send("GET", path, headers=(("accept", "text/html"),))
    assert answer.status == 200, answer.body
    return answer.body.decode()


def _counts(page: str) -> dict[str, int]:
    return {change: int(count.replace(",", "")) for change, _, count in _CHIP.findall(page)}


def _document(site: AsgiSite, baseline: int, candidate: int) -> Any:
    asked = {"baseline": run_id(baseline), "candidate": run_id(candidate)}
    return site.send("POST", "/api/v1/benchmarks/compare", asked).json


def _rows(page: str) -> list[str]:
    return [html.unescape(name) for name in re.findall(r'<tr data-href="[^"]*/cases/([^"?]*)', page)]


def test_chips_count_and_show_what_compare_says_about_each_metric(site: AsgiSite) -> None:
    for baseline, candidate in Random(2).sample(list(permutations(range(RUNS), 2)), 8):
        pin_baseline(site.site.settings, run_id(baseline))
        document = _document(site, baseline, candidate)
        for metric in METRICS:
            page = _page(site, f"/runs/{run_id(candidate)}?q=metric:{metric}")
            assert _counts(page) == document["metrics"][metric]["case_classes"]
            for change, href, _ in _CHIP.findall(page):
                named = [each for each in document["cases"] if each["metric"] == metric and each["class"] == change]
                shown = _page(site, html.unescape(href).partition("#")[0])

                assert set(_rows(shown)) == {each["test_case_id"] for each in named}
                assert f'data-of="{len(named)}"' in shown


def test_counts_are_those_within_the_rest_of_the_filter(site: AsgiSite) -> None:
    pin_baseline(site.site.settings, run_id(STEADY))
    here = f"/runs/{run_id(DROPPED)}"

    assert _counts(_page(site, here)) == {"worse": 56, "better": 0, "same": 4, "too_few": 0}
    assert _counts(_page(site, f"{here}?q=topic:a")) == {"worse": 28, "better": 0, "same": 2, "too_few": 0}
    page = _page(site, f"{here}?q=topic:a+changed:worse")
    assert _counts(page) == {"worse": 28, "better": 0, "same": 2, "too_few": 0}
    assert len(_rows(page)) == 28
    page = _page(site, f"{here}?q=changed:worse+metric:warmth")
    assert _counts(page) == {"worse": 0, "better": 0, "same": 60, "too_few": 0}
    assert _rows(page) == []


def test_changed_cases_are_sorted_paged_and_walked_through(site: AsgiSite) -> None:
    pin_baseline(site.site.settings, run_id(STEADY))
    first = _page(site, f"/runs/{run_id(DROPPED)}?q=changed:worse&sort=-cost")
    (more,) = re.findall(r'href="([^"]*)#cases" rel="next"', first)
    second = _page(site, html.unescape(more))

    assert (len(_rows(first)), len(_rows(second))) == (50, 6)
    assert len({*_rows(first), *_rows(second)}) == 56
    case = _page(site, f"/runs/{run_id(DROPPED)}/cases/case-007?q=changed:worse")
    assert re.search(r"8\s+of\s+56", case)


@pytest.mark.parametrize("run", [OTHER, STEADY], ids=["no baseline", "the baseline itself"])
def test_without_another_run_there_are_no_chips_and_the_filter_says_why(site: AsgiSite, run: int) -> None:
    pin_baseline(site.site.settings, run_id(STEADY))

    assert _counts(_page(site, f"/runs/{run_id(run)}")) == {}
    page = _page(site, f"/runs/{run_id(run)}?q=changed:worse")
    assert "There is no other run to say what changed against" in page
    assert "There is no other run" in _page(site, f"/runs/{run_id(run)}/cases/case-001?q=changed:worse")


def test_another_baseline_gives_other_counts(site: AsgiSite) -> None:
    pin_baseline(site.site.settings, run_id(DROPPED))

    assert _counts(_page(site, f"/runs/{run_id(STEADY)}"))["better"] == 56
    unpin_baseline(site.site.settings, "support")
    assert _counts(_page(site, f"/runs/{run_id(STEADY)}")) == {}


@each("words", ["changed:sideways", "changed:worse metric:none", "metric:none", "changed:"])
def test_a_change_that_does_not_exist_is_said_and_nothing_is_filtered(site: AsgiSite, words: str) -> None:
    pin_baseline(site.site.settings, run_id(STEADY))
    page = _page(site, f"/runs/{run_id(DROPPED)}?q={quote(words)}")

    assert 'role="alert"' in page
    assert len(_rows(page)) == 50


def test_of_a_large_run_the_chips_come_later_and_their_filter_waits_for_them(site: AsgiSite) -> None:
    pin_baseline(site.site.settings, LARGE[0])
    here = f"/runs/{LARGE[1]}"
    assert [count for _, _, count in _CHIP.findall(_page(site, here))] == ["…"] * 4

    assert site.send("GET", f"/api/v1/benchmarks{here}/change").status == 200
    assert _counts(_page(site, here)) == {"worse": 0, "better": 0, "same": 0, "too_few": 2_001}
    assert len(_rows(_page(site, f"{here}?q=changed:cannot-tell"))) == 50
