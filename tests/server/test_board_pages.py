"""The leaderboard and the trends: the same numbers as the commands, and addresses that say what is shown."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest
from asgi_site import AsgiSite, asgi_site, said
from board_site import BLIP, FELL, FOLLOWED, HOSTILE, RANKED, ROSE, RUNS, SHORT, BoardSite, fill
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asgi_site import Answer

_ROW = re.compile(r'<tr data-href="/runs/([^"]*)".*?</tr>', re.DOTALL)
_SOURCE = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AsgiSite, BoardSite]]:
    folder = tmp_path_factory.mktemp("boards")
    Workspace(folder).configure(version=1)
    runs = fill(folder)
    with asgi_site(folder, make=False) as made:
        yield made, runs


@pytest.fixture
def site(filled: tuple[AsgiSite, BoardSite]) -> AsgiSite:
    return filled[0]


@pytest.fixture
def runs(filled: tuple[AsgiSite, BoardSite]) -> BoardSite:
    return filled[1]


def _page(site: AsgiSite, path: str, **query: Any) -> str:
    answer = site.send("GET", f"{path}?{urlencode(query)}" if query else path)
    assert answer.status == 200, answer.body[:300]
    return answer.body.decode()


def _text(page: str) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", page).split()))


def _heading(page: str) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    assert found
    return html.unescape(found[1])


def _csv(answer: Answer) -> list[dict[str, str]]:
    assert answer.header("content-type") == "text/csv; charset=utf-8"
    assert "attachment" in (answer.header("content-disposition") or "")
    return list(csv.DictReader(io.StringIO(answer.body.decode())))


def test_ranks_are_those_of_the_command_and_a_mean_of_zero_counts(site: AsgiSite, runs: BoardSite) -> None:
    page = _page(site, "/leaderboard", dataset=RANKED)
    (board,) = json.loads(said("leaderboard", "--dataset", RANKED, "--json"))["boards"]

    rows = {match[1]: _text(match[0]) for match in _ROW.finditer(page)}
    assert list(rows) == [run["run_id"] for run in board["runs"]]
    assert [text.split(".")[0] for text in rows.values()] == [str(run["rank"]) for run in board["runs"]]
    assert [text.split()[0] for text in rows.values()][:4] == ["1.", "1.", "3.", "3."]
    assert "0.00 ± 0.25" in rows[runs.ranked[4]]
    assert "unknown" in rows[runs.ranked[4]]
    assert _heading(page) == (
        f"hosted/large and hosted/medium share the first place of 6 on {RANKED}: their intervals overlap."
    )
    assert "was judged by openai/other" in _text(page)


def test_all_datasets_stand_side_by_side_and_every_cell_leads_to_its_run(site: AsgiSite, runs: BoardSite) -> None:
    page = _page(site, "/leaderboard")
    across = page[page.index('<table class="grid across">') : page.index("</table>")]

    assert {RANKED, FOLLOWED, SHORT} <= {
        html.unescape(name) for name in re.findall(r"<bdi>([^<]*)</bdi></a><br>", across)
    }
    assert all(f'href="/runs/{run}"' in across for run in runs.ranked)
    assert "not run" in across


def test_the_metric_is_in_the_address_and_an_unknown_one_is_told(site: AsgiSite) -> None:
    chosen = _page(site, "/leaderboard", dataset=FOLLOWED, metric="brevity")
    unknown = _page(site, "/leaderboard", dataset=RANKED, metric="clarify")

    assert "ranked by brevity" in _text(chosen)
    assert '<option value="brevity" selected>' in chosen
    assert "did you mean 'clarity'" in _text(unknown).lower() or "clarity" in _text(unknown)
    assert 'role="alert"' in unknown
    assert f'<option value="{RANKED}" selected>' in unknown


def test_a_change_is_told_with_its_interval_and_leads_to_both_sides(site: AsgiSite, runs: BoardSite) -> None:
    page = _page(site, "/trends", dataset=FOLLOWED)
    document = json.loads(said("trends", "--dataset", FOLLOWED, "--metric", "clarity", "--json"))
    changes = document["metrics"]["clarity"]["changes"]

    assert _heading(page) == document["metrics"]["clarity"]["sentence"]
    assert [change["run_id"] for change in changes] == [runs.followed[FELL], runs.followed[ROSE]]
    for change in changes:
        assert f'href="/compare?a={change["previous_run_id"]}&amp;b={change["run_id"]}"' in page
    assert re.search(r"fell 3\.\d\d → 3\.\d\d: −0\.\d\d \(−0\.\d\d to −0\.\d\d\), p < 0\.001", _text(page))  # noqa: RUF001


def test_the_table_has_every_run_with_blips_differences_and_verdicts_in_words(site: AsgiSite, runs: BoardSite) -> None:
    rows = {match[1]: _text(match[0]) for match in _ROW.finditer(_page(site, "/trends", dataset=FOLLOWED))}

    assert list(rows) == list(reversed(runs.followed))
    assert "blip" in rows[runs.followed[BLIP]]
    assert "prompt v1 (aaaa) → v2 (bbbb)" in rows[runs.followed[FELL]]
    assert [word for word in ("pass", "fail", "inconclusive") if f"gate: {word}" in rows[runs.followed[3]]] == ["fail"]


def test_the_chart_has_the_numbers_of_the_table_with_links(site: AsgiSite, runs: BoardSite) -> None:
    chart = json.loads(_SOURCE.findall(_page(site, "/trends", dataset=FOLLOWED))[0])
    rows = chart["layer"][0]["data"]["values"]
    links = {row["link"] for layer in chart["layer"] for row in layer["data"]["values"]}

    assert [row["link"] for row in rows] == [f"/runs/{run}" for run in runs.followed]
    assert f"/compare?a={runs.followed[FELL - 1]}&b={runs.followed[FELL]}" in links
    assert {row["verdict"] for row in rows} == {"pass", "fail", "inconclusive", "none"}


def test_other_versions_are_left_out_unless_they_are_asked_for(site: AsgiSite, runs: BoardSite) -> None:
    same, every = (_page(site, "/trends", dataset=FOLLOWED, versions=which) for which in ("same", "all"))
    shown = [match[1] for match in _ROW.finditer(every)]

    assert len(_ROW.findall(same)) == RUNS
    assert shown == [*reversed(runs.followed), *reversed(runs.other_version)]
    assert "dataset e2e2e2e2 → d1d1d1d1, judge openai/old → openai/judge" in _text(every).replace(" ,", ",")


@pytest.mark.parametrize("path", ["/leaderboard", "/trends"])
def test_an_empty_store_shows_the_command_that_fills_it(tmp_path: Any, path: str) -> None:
    Workspace(tmp_path).configure(version=1)
    with asgi_site(tmp_path, make=False) as empty:
        text = _text(_page(empty, path))

    assert "No finished runs yet." in text
    assert "prompt-evaluator benchmark run" in text


def test_the_same_numbers_are_a_file_a_table_and_a_command(site: AsgiSite, runs: BoardSite) -> None:
    page = html.unescape(_page(site, "/leaderboard", dataset=RANKED))
    ranked = _csv(site.send("GET", f"/api/v1/benchmarks/leaderboard/export?dataset={RANKED}"))

    assert f"prompt-evaluator leaderboard --dataset {RANKED}" in page
    assert "| 1 | hosted/large | 4.40 (4.15 to 4.65) | 50 % |" in page
    assert f"/api/v1/benchmarks/leaderboard/export?dataset={RANKED}" in page
    assert next(row["run_id"] for row in ranked if not row["left_out_because"]) == runs.ranked[0]
    assert next(row["left_out_because"] for row in ranked if row["left_out_because"]).startswith("was judged by")


def test_a_trend_is_a_file_a_table_and_a_command(site: AsgiSite, runs: BoardSite) -> None:
    page = html.unescape(_page(site, "/trends", dataset=FOLLOWED, metric="clarity"))
    followed = _csv(site.send("GET", f"/api/v1/benchmarks/trends/export?dataset={FOLLOWED}&metric=clarity"))

    assert f"prompt-evaluator trends --dataset {FOLLOWED} --metric clarity" in page
    assert [row["run_id"] for row in followed] == list(runs.followed)
    assert [at for at, row in enumerate(followed) if row["change_p_value"]] == [FELL, ROSE]
    assert "| When (UTC) | Run | Mean ± 95 % |" in page


def test_hostile_names_stay_texts(site: AsgiSite) -> None:
    for path in (f"/leaderboard?dataset={quote(HOSTILE)}", "/leaderboard", f"/trends?dataset={quote(HOSTILE)}"):
        page = _page(site, path)
        assert "<script>" not in page
        assert all(json.loads(source)["layer"] for source in _SOURCE.findall(page))


def test_the_script_of_charts_is_kept_for_good_and_missing_without_the_extra(
    site: AsgiSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = _page(site, "/trends", dataset=FOLLOWED)
    address = re.search(r'data-script="([^"]*)"', page)
    assert address
    answer = site.send("GET", address[1])
    assert (answer.status, answer.header("content-type")) == (200, "text/javascript; charset=utf-8")
    assert "immutable" in (answer.header("cache-control") or "")
    assert b"vegaEmbed" in answer.body

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    without = _page(site, "/trends", dataset=FOLLOWED)
    assert site.send("GET", address[1]).status == 404
    assert "pip install 'prompt-verdict[charts]'" in _text(without)
    assert '<svg class="band"' in without
    assert "charts.js" not in without
    assert "application/json" not in without
