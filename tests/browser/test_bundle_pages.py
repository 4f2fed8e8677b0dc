"""A bundle in a real browser, from disk, with the network cut: it does what the pages of a server do."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from bundled_site import bundle, offline_page
from hostile import MARK
from playwright.sync_api import expect
from seeded_site import seed

from prompt_evaluator.app.serving.case_table import measured
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.case_filter import read_filter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page
    from seeded_site import Seeded

pytestmark = pytest.mark.slow
AXE = """async () => (await axe.run(
    document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], preload: false})).violations
    .map(({id, nodes}) => `${id}: ${nodes.map(({html}) => html.slice(0, 160)).slice(0, 3).join(" | ")}`)"""
LISTED = """async ([q, sort]) => {
    const { readFilter, matcher, ordered } = window.bundleModules["bundle-filter.js"];
    const data = await window.bundleModules["bundle-data.js"].load("data/cases.js");
    const matches = await matcher("data/", data, readFilter(q, data));
    return (await ordered("data/", data, sort)).filter(matches).map((place) => data.cases[place][0]);
}"""
FILTERS = (
    "",
    "failing",
    "flaky",
    "flagged errors",
    "errors",
    "flag:leaks_data",
    "status:partial",
    "status:pending",
    "correct<4",
    "correct>=3.5 tone!=4",
    "topic:billing",
    "topic:billing difficulty:easy failing",
    "topic!=billing",
    "customer:'customer 12'",
    "customer~'CUSTOMER 1'",
    "nothing:here",
    "text~refund",
    "parcel late",
    "sturdy",
)
SORTS = ("position", "correct", "-correct", "-tone", "cost", "-latency", "-flakiness")


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seed(tmp_path_factory.mktemp("site"), cases=56, samples=3)


@pytest.fixture(scope="module")
def site(seeded: Seeded) -> Path:
    out = seeded.folder / "site"
    bundle(seeded.settings, [seeded.baseline, seeded.better, seeded.hostile], out)
    return out


@pytest.fixture(scope="module")
def with_errors(seeded: Seeded) -> Path:
    """A run with errors, of which three cases have pages."""
    out = seeded.folder / "errors"
    bundle(seeded.settings, [seeded.with_errors], out, cases=3)
    return out


@pytest.fixture
def page(browser: Browser, site: Path) -> Iterator[Page]:
    with offline_page(browser, site) as found:
        found.goto((site / "index.html").as_uri())
        yield found


def _ready(page: Page) -> Page:
    """The page once it shows what its address asks for."""
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def _run(site: Path, run_id: str) -> str:
    return (site / "runs" / run_id / "index.html").as_uri()


def _ids(page: Page) -> list[str]:
    return page.locator("table[data-rows] tbody td:first-child a").all_inner_texts()


def _stored(seeded: Seeded, run_id: str, text: str, sort: str = "position") -> list[str]:
    """The cases that the server lists."""
    store = open_store(seeded.settings)
    wanted = read_filter(text, measured(run_answer(seeded.settings, run_id)))
    query = wanted.query(run_id, sort=sort.removeprefix("-"), descending=sort.startswith("-"))
    ids = store.matching_ids(read_filter("", ()).query(run_id))
    return [ids[position] for position in store.case_order(query)]


def test_the_worst_case_is_two_clicks_away_and_the_next_one_a_key(page: Page, seeded: Seeded) -> None:
    page.locator(f"tr[data-run='{seeded.better}'] td a").first.click()
    _ready(page).locator("a[data-worst]").click()
    worst = _ready(page).locator("h1 .id").inner_text()
    everything = _stored(seeded, seeded.better, "")

    assert page.locator("[data-sample]").count() >= 1
    page.keyboard.press("ArrowRight")
    expect(page.locator("h1 .id")).to_have_text(everything[everything.index(worst) + 1])
    _ready(page).keyboard.press("]")
    expect(page.locator("[data-sample][aria-current=true]")).to_have_count(1)


def test_a_chip_filters_and_the_next_case_is_the_next_of_the_list(page: Page, site: Path, seeded: Seeded) -> None:
    page.goto(_run(site, seeded.better))
    chip = page.locator("[data-chip=failing]")
    count = int(chip.locator(".num").inner_text())
    chip.click()
    failing = _stored(seeded, seeded.better, "failing")

    expect(page.locator("[data-position]")).to_have_text(f"1\u2013{count} of {count}")
    assert _ids(page) == failing
    assert len(failing) == count
    expect(page.locator("[data-chip=failing][aria-current=true]")).to_contain_text("✕")
    page.locator("table[data-rows] tbody a").first.click()
    expect(page.locator("[data-place]")).to_have_text(f"1 of {count} in «failing»")
    page.locator("a[data-next]").click()
    expect(page.locator("h1 .id")).to_have_text(failing[1])
    page.go_back()
    page.go_back()
    expect(page.locator("[data-position]")).to_have_text(f"1\u2013{count} of {count}")


def test_every_count_of_a_filtered_table_is_the_number_of_rows_behind_it(
    page: Page, site: Path, seeded: Seeded
) -> None:
    page.goto(f"{_run(site, seeded.better)}?q=topic:billing#cases")
    _ready(page)
    chips = [
        (chip.get_attribute("href") or "", int(chip.locator(".num").inner_text()))
        for chip in page.locator("[data-chip]:visible, [data-facet^=difficulty]:visible").all()
    ]

    assert len(chips) == 7
    for href, count in chips:
        page.goto(_run(site, seeded.better) + href)
        assert len(_ids(_ready(page))) == count
        assert page.locator("[data-position]").inner_text().endswith(f"of {count}")


def test_a_heading_sorts_and_pages_turn(page: Page, site: Path, seeded: Seeded) -> None:
    page.goto(_run(site, seeded.better))
    page.locator("th a", has_text="tone").click()
    lowest = _stored(seeded, seeded.better, "", "tone")

    expect(page.locator("th[aria-sort=ascending]")).to_have_text("tone ↑")
    assert _ids(page) == lowest[:50]
    page.locator(".foot a[rel=next]").click()
    expect(page.locator("[data-position]")).to_have_text("51\u201356 of 56")
    assert _ids(page) == lowest[50:]
    page.locator("select[name=sort]").select_option("-correct")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("th[aria-sort=descending]")).to_have_text("correct ↓")
    assert _ids(page) == _stored(seeded, seeded.better, "", "-correct")[:50]


def test_a_typed_filter_finds_texts_and_ids_and_says_what_it_cannot_read(
    page: Page, site: Path, seeded: Seeded
) -> None:
    page.goto(_run(site, seeded.better))
    page.keyboard.press("/")
    page.keyboard.type("returns-007")
    page.keyboard.press("Enter")

    expect(page.locator("[data-position]")).to_have_text("1\u20131 of 1")
    assert _ids(page) == ["returns-007"]
    page.goto(f"{_run(site, seeded.better)}?q=flag:none")
    expect(page.get_by_role("alert")).to_contain_text("There is no flag 'none'")
    expect(page.locator("[data-position]")).to_have_text("1\u201350 of 56")
    page.goto(f"{_run(site, seeded.better)}?q=zzzz")
    expect(page.get_by_text("No case matches zzzz")).to_be_visible()


def test_filters_and_orders_are_those_of_the_server(page: Page, site: Path, seeded: Seeded) -> None:
    page.goto(_run(site, seeded.better))
    for text in FILTERS:
        assert page.evaluate(LISTED, [text, "position"]) == _stored(seeded, seeded.better, text), text
    for sort in SORTS:
        assert page.evaluate(LISTED, ["", sort]) == _stored(seeded, seeded.better, "", sort), sort


def test_errors_are_filtered_and_cases_without_a_page_are_skipped(
    browser: Browser, with_errors: Path, seeded: Seeded
) -> None:
    run_id = seeded.with_errors
    with offline_page(browser, with_errors) as page:
        page.goto(_run(with_errors, run_id))
        for text in ("errors", "error:TimedOutError", "status:partial", "flagged errors"):
            found = page.evaluate(LISTED, [text, "-correct"])
            assert found == _stored(seeded, run_id, text, "-correct"), text
        readable = page.evaluate(
            """async () => (await window.bundleModules["bundle-data.js"].load("data/cases.js")).cases
            .filter(([, marks]) => marks & 16).map(([id]) => id)"""
        )
        page.locator("table[data-rows] tbody td:first-child a").first.click()
        page.locator("a[data-next]").click()

        expect(page.locator("h1 .id")).to_have_text(readable[1])
        assert len(readable) == 3


def test_two_runs_are_compared_case_by_case(page: Page, seeded: Seeded) -> None:
    page.locator(".top nav a", has_text="Compare").click()
    expect(page.locator("h1")).to_contain_text("B is better than A")
    assert page.locator(".scatter path").count() >= 1, "the picture is drawn"
    assert page.locator("svg.dot").count() >= 3

    page.locator(".filter").fill("topic:billing b>=4")
    page.keyboard.press("Enter")
    expect(page.locator(".filter")).to_have_value("topic:billing b>=4")
    page.wait_for_url("**q=*")
    shown = _ids(_ready(page))
    chips = page.locator("a.chip[data-class]").all_inner_texts()
    assert shown
    assert all(case_id.startswith("billing") for case_id in shown)
    assert sum(int(text.split(" of ")[0].split()[-1]) for text in chips) == len(shown)
    page.locator("table[data-rows] tbody a").first.click()
    expect(page.locator("h2.case-name")).to_contain_text(shown[0])
    assert page.locator(".sides article").count() == 2
    page.locator("h2.case-name a", has_text="in B").click()
    expect(page.locator("h1 .id")).to_have_text(shown[0])
    assert seeded.better in page.url


@pytest.mark.parametrize(
    ("where", "scheme"),
    [
        ("index.html", "light"),
        ("runs/{better}/index.html", "dark"),
        ("runs/{better}/index.html?q=flaky&sort=-tone", "light"),
        ("runs/{better}/cases/3.html", "light"),
        ("compare/1/index.html", "dark"),
        ("compare/1/cases/3.html", "light"),
    ],
)
def test_axe_finds_nothing_and_no_page_scrolls_sideways(
    browser: Browser, site: Path, seeded: Seeded, where: str, scheme: Any
) -> None:
    path, _, query = where.format(**{k: v for k, v in seeded._asdict().items() if isinstance(v, str)}).partition("?")
    with offline_page(browser, site, color_scheme=scheme) as page:
        page.goto(f"{(site / path).as_uri()}?{query}")
        if query:
            expect(page.locator("[data-chip=flaky][aria-current]")).to_be_visible()
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))

        assert page.evaluate(AXE) == []
        page.set_viewport_size({"width": 360, "height": 900})
        page.wait_for_function("document.documentElement.scrollWidth <= 360", timeout=10_000)  # it is laid out anew


def test_what_a_model_wrote_does_nothing(page: Page, site: Path, seeded: Seeded) -> None:
    hostile = site / "runs" / seeded.hostile
    addresses = [
        f"{(hostile / 'index.html').as_uri()}{query}" for query in ("", "?sort=-cost", "?q=kind:markup", "?q=<img")
    ]
    addresses += [path.as_uri() for path in sorted(hostile.glob("cases/*.html"))]
    for address in addresses:
        page.goto(address)
        assert page.evaluate(f"window.{MARK}") is None
        assert page.locator("main iframe, main img, main base, main style").count() == 0


def test_pages_can_be_read_without_scripts(browser: Browser, site: Path, seeded: Seeded) -> None:
    with offline_page(browser, site, java_script_enabled=False) as page:
        page.goto((site / "index.html").as_uri())
        page.locator(f"tr[data-run='{seeded.better}'] td a").first.click()
        expect(page.locator("table[data-rows] tbody tr")).to_have_count(50)
        page.locator("table[data-rows] tbody a").first.click()
        page.locator("a[data-next]").click()

        expect(page.locator("h1 .id")).to_have_text(_stored(seeded, seeded.better, "")[1])
