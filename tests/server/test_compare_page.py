"""The page that compares runs: the same numbers as `compare --json`, and addresses that say what is shown."""

from __future__ import annotations

import html
import re
from contextlib import closing
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import urlopen

import pytest
from compared_site import METRICS, Planned, add_planned, random_cases, run_id, store_of
from entries import each
from served import served
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Served


PAIRS = 50
RUNS = 12
DROPPED = [f"case-{at:03}" for at in (3, 11, 17, 23, 29, 31, 37)]
CHIP = re.compile(r'<a class="chip[^"]*" data-class="(\w+)"[^>]*>([a-z ]+?) ([\d,]+)(?: of ([\d,]+))?</a>')
ROW = re.compile(r'<tr data-href="[^"]*" data-class="(\w+)" data-case="([^"]*)"')


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("compared")
    _fill(folder)
    with served(Workspace(folder), "--no-worker") as found:
        yield found


def _fill(folder: Path) -> None:
    random = Random(18)
    workspace = Workspace(folder)
    workspace.configure(version=1)
    with closing(store_of(folder)) as store:
        for number in range(RUNS):
            samples, spread = random.choice((1, 2, 3, 5, 8)), random.choice((0.2, 0.6, 1.2))
            count = random.choice((4, 12, 30, 60))
            add_planned(
                store, number, random_cases(random, count, samples=samples, spread=spread, drift=1.5 - number % 4)
            )
        steady = [
            Planned({"clarity": [5.0, 4.0, 5.0, 4.0, 5.0]}, metadata={"topic": ("a", "b")[at % 2]}) for at in range(40)
        ]
        add_planned(store, 20, steady)
        dropped = [
            each._replace(scores={"clarity": [1.0, 2.0, 1.0, 2.0, 1.0]}) if f"case-{at:03}" in DROPPED else each
            for at, each in enumerate(steady)
        ]
        add_planned(store, 21, dropped, prompt="Be brief.", version="v2")
        add_planned(store, 22, steady, dataset="other")


def _read(server: Served, path: str) -> str:
    with urlopen(server.address + path, timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def _compare(server: Served, a: int, b: int, **more: Any) -> str:
    words = "".join(f"&{name}={quote(str(value))}" for name, value in more.items())
    return _read(server, f"/compare?a={run_id(a)}&b={run_id(b)}{words}")


def _document(server: Served, a: int, b: int) -> Any:
    """As `compare --json --allow-different`."""
    return server.client.post(
        "/api/v1/benchmarks/compare", baseline=run_id(a), candidate=run_id(b), allow_different=True
    )


def _chips(page: str) -> dict[str, int]:
    return {class_: int(count.replace(",", "")) for class_, _, count, _ in CHIP.findall(page)}


def _rows(page: str) -> list[str]:
    return [html.unescape(case_id) for _, case_id in ROW.findall(page)]


def test_the_counts_of_the_chips_are_those_of_the_command_line_for_any_two_runs(server: Served) -> None:
    for a, b in Random(7).sample(list(permutations(range(RUNS), 2)), PAIRS):
        document = _document(server, a, b)
        for metric in METRICS:
            page = _compare(server, a, b, metric=metric, different=1)

            assert _chips(page) == document["metrics"][metric]["case_classes"], (a, b, metric)


def test_the_document_of_the_server_is_that_of_the_command_line(server: Served) -> None:
    shown = Workspace(server.folder).run("compare", run_id(20), run_id(21), "--json").json

    assert _chips(_compare(server, 20, 21)) == shown["metrics"]["clarity"]["case_classes"]


def test_each_chip_leads_to_as_many_cases_as_it_counts(server: Served) -> None:
    for a, b in Random(3).sample(list(permutations(range(RUNS), 2)), 6):
        counts = _chips(_compare(server, a, b, different=1))
        for class_, count in counts.items():
            page = _compare(server, a, b, different=1, q=f"changed:{class_}")
            found = ROW.findall(page)

            assert [name for name, _ in found] == [class_] * min(count, 50)
            assert (f"of {count:,} case" in page) == bool(count)


def test_the_cases_that_dropped_come_first(server: Served) -> None:
    page = _compare(server, 20, 21)

    assert _chips(page) == {"worse": 7, "better": 0, "same": 33, "too_few": 0}
    assert sorted(_rows(page)[:7]) == DROPPED
    assert sorted(_rows(_compare(server, 20, 21, q="changed:worse"))) == DROPPED


def test_of_the_gains_the_most_certain_comes_first(server: Served) -> None:
    document = _document(server, 21, 20)
    gains = [case["test_case_id"] for case in document["cases"] if case["class"] == "better"]

    assert sorted(gains) == DROPPED
    assert _rows(_compare(server, 21, 20, q="changed:better")) == gains[::-1]


def test_a_filter_on_the_candidate_and_one_on_both_means_narrow_the_list_and_the_counts(server: Served) -> None:
    page = _compare(server, 20, 21, q="topic:b changed:worse a>=4 b<2")

    assert set(_rows(page)) == set(DROPPED)  # all of them have odd numbers
    page = _compare(server, 20, 21, q="topic:a")
    assert CHIP.findall(page)[0] == ("worse", "worse", "0", "7")
    assert _chips(page) == {"worse": 0, "better": 0, "same": 20, "too_few": 0}
    assert _rows(_compare(server, 20, 21, q="text~case-011")) == ["case-011"]


def test_number_fields_become_words_of_the_filter(server: Served) -> None:
    with urlopen(
        f"{server.address}/compare?a={run_id(20)}&b={run_id(21)}&q=topic%3Ab+a%3E%3D1&b_to=2.5&a_from=4",
        timeout=60,
    ) as answer:
        query = parse_qs(urlsplit(answer.url).query)
        page = answer.read().decode()

    assert query == {"a": [run_id(20)], "b": [run_id(21)], "q": ["topic:b a>=4 b<=2.5"]}
    assert sorted(_rows(page)) == DROPPED


@each(
    ("words", "said"),
    [
        ('"open', "A quotation mark in the filter is not closed."),
        ("a>=many", "which is not a number"),
        ("metric:nothing", "There is no metric"),
        ("changed:sideways", "There is no changed"),
    ],
)
def test_a_filter_that_cannot_be_read_is_said_and_not_applied(server: Served, words: str, said: str) -> None:
    page = _compare(server, 20, 21, q=words)

    assert said in html.unescape(page)
    assert len(_rows(page)) == 40


def test_a_list_has_pages(server: Served) -> None:
    one, other = [number for number in range(RUNS) if server.client.run(run_id(number)).cases == 60][:2]
    first, second = (_compare(server, one, other, start=start) for start in (0, 50))

    assert (len(_rows(first)), len(_rows(second))) == (50, 10)
    assert len({*_rows(first), *_rows(second)}) == 60
    assert "51 to 60 of 60 cases" in second


def test_runs_that_cannot_be_compared_say_why_and_may_be_compared_all_the_same(server: Served) -> None:
    page = _compare(server, 20, 22)

    assert "cannot be compared as they are: they have different datasets" in page
    assert "--allow-different" not in page
    (link,) = re.findall(r'href="(/compare[^"]*different=1[^"]*)"', page)
    assert _chips(_read(server, html.unescape(link)))["same"] == 40


def test_a_run_is_not_compared_with_itself(server: Served) -> None:
    page = _compare(server, 20, 20)

    assert "is given twice" in page
    assert 'type="radio"' in page


def test_what_differs_is_shown_as_a_diff_and_the_terminal_gets_the_same_command(server: Served) -> None:
    page = _compare(server, 20, 21)

    assert '<span class="removed">-Answer.' in page
    assert '<span class="added">+Be brief.' in page
    assert f"prompt-evaluator compare {run_id(20)} {run_id(21)}" in page
    assert "clarity" in re.search(r'<pre id="markdown"[^>]*>(.*?)</pre>', page, re.DOTALL)[1]  # type: ignore[index]


def test_a_choice_starts_with_the_baseline_of_the_dataset(server: Served) -> None:
    server.client.change(run_id(20), baseline=True)

    page = _read(server, f"/compare?b={run_id(21)}")

    assert re.search(rf'name="a" value="{run_id(20)}"[^>]* checked', page)
    assert re.search(rf'name="b" value="{run_id(21)}"[^>]* checked', page)


def test_the_matrix_counts_what_it_shows(server: Served) -> None:
    page = _compare(server, 20, 21, view="matrix")
    counts = {name: int(count) for name, count in re.findall(r'data-show="(\w+)"[^>]*>\w+ (\d+)</a>', page)}

    assert counts == {"all": 40, "failures": 7, "different": 7, "errors": 0}
    shown = _compare(server, 20, 21, view="matrix", show="different")
    assert re.findall(r'data-case="([^"]*)"', shown) == DROPPED
