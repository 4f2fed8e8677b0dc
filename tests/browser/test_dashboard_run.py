"""The page of a run in a browser: read it, filter its cases, watch it, stop it, go on, by mouse and by keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
import yaml
from playwright.sync_api import expect
from seeded_site import large_run, seed
from served import Served, served
from watched_page import watched_page
from workspace import Workspace

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page
    from seeded_site import Seeded


_CASES = 20_000
_DASH = "\N{EN DASH}"
_SOON = 120_000


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    found = seed(tmp_path_factory.mktemp("site"))
    store = open_store(found.settings)
    large_run(store, _CASES, samples=2)
    store.close()
    config = found.folder / "prompt_evaluator.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["providers"]["slow"] = {"kind": "mock", "options": {"latency_ms": 150, "quality": 0.4}}
    flawed = {"kind": "mock", "options": {"faults": {"refused": 0.3}}, "limits": {"max_tries": 1}}
    settings["providers"]["flawed"] = flawed
    config.write_text(yaml.safe_dump(settings))
    return found


@pytest.fixture(scope="module")
def server(seeded: Seeded) -> Iterator[Served]:
    with served(Workspace(seeded.folder)) as found:
        yield found


@pytest.fixture
def page(browser: Browser, server: Served) -> Iterator[Page]:
    with watched_page(browser, server) as found:
        yield found


def _rows(page: Page) -> int:
    page.wait_for_load_state()
    return page.locator("table.cases tbody tr").count()


def _shown(page: Page) -> int:
    """The number of cases that the page says there are."""
    page.wait_for_load_state()
    return int(page.locator("[data-position]").get_attribute("data-of") or "")


def test_the_answer_stands_first_with_its_evidence(page: Page, server: Served, seeded: Seeded) -> None:
    page.goto(f"{server.address}/runs/{seeded.better}")

    expect(page.locator("h1")).to_contain_text("This run is better than the baseline on correct")
    expect(page).to_have_title(re.compile("This run is better than the baseline"))
    card = page.locator(".card", has_text="correct")
    expect(card.locator(".badge")).to_have_text("better")
    expect(card).to_contain_text("±")
    expect(card.locator(".dot .zero")).to_have_count(1)
    expect(page.locator(".facts")).to_contain_text("48 cases × 5 samples of mock/default")
    expect(page.locator(".facts")).to_contain_text("synthetic")
    expect(page.locator("#reproduce")).to_contain_text("prompt-evaluator evaluate-dataset")
    expect(page.locator(".squares a")).to_have_count(48)


def test_chips_show_as_many_rows_as_they_count_and_are_removed_again(
    page: Page, server: Served, seeded: Seeded
) -> None:
    for word in ("failing", "flaky", "flagged", "errors"):
        page.goto(f"{server.address}/runs/{seeded.with_errors}")
        chip = page.locator(f"[data-chip={word}]")
        count = int(chip.locator(".num").inner_text())
        chip.click()
        expect(page.get_by_label("Filter cases")).to_have_value(word)
        assert _rows(page) == _shown(page) == count
        page.locator(f"[data-chip={word}]").click()
        expect(page.get_by_label("Filter cases")).to_have_value("")


def test_cases_are_filtered_by_how_they_changed_against_the_baseline(
    page: Page, server: Served, seeded: Seeded
) -> None:
    page.goto(f"{server.address}/runs/{seeded.better}?q=topic:billing")
    chip = page.locator("[data-change-chip=same]")
    expect(chip).to_have_text("same 12")
    chip.click()
    expect(page.get_by_label("Filter cases")).to_have_value("topic:billing changed:same")
    assert _rows(page) == _shown(page) == 12
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("1 of 12")
    page.go_back()
    page.locator("[data-change-chip=worse]").click()
    expect(page.locator("#cases")).to_contain_text("No case matches topic:billing changed:worse")
    page.locator("[data-change-chip=worse]").click()
    expect(page.get_by_label("Filter cases")).to_have_value("topic:billing")
    page.goto(f"{server.address}/runs/{seeded.benchmark}")
    expect(page.locator("[data-change-chip]")).to_have_count(0)  # there is no baseline


def test_20_000_cases_are_filtered_sorted_and_paged(page: Page, server: Served) -> None:
    page.goto(f"{server.address}/runs/large")
    expect(page.locator("[data-position]")).to_have_text(f"1{_DASH}50 of 20,000")
    page.keyboard.press("/")
    page.keyboard.type("failing topic:billing clarity<1.3")
    page.keyboard.press("Enter")
    expect(page.locator("[data-position]")).to_have_text(f"1{_DASH}50 of 1,000")
    page.get_by_role("link", name="Latency").click()
    page.get_by_role("link", name="next 50").click()
    expect(page.locator("[data-position]")).to_have_text(f"51{_DASH}100 of 1,000")
    page.keyboard.press("j")
    page.keyboard.press("j")

    expect(page.locator("[data-position]")).to_have_text("52 of 1,000")
    expect(page.locator("#slices")).to_contain_text("topic = billing")


def test_words_are_suggested_with_counts_and_filters_are_offered_again(
    page: Page, server: Served, seeded: Seeded
) -> None:
    page.goto(f"{server.address}/runs/{seeded.better}")
    field = page.get_by_label("Filter cases")
    field.press_sequentially("bill")
    option = page.get_by_role("option", name="topic:billing")
    expect(option).to_contain_text("12")
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).to_have_value("topic:billing ")
    field.press("Enter")
    page.wait_for_url(re.compile("topic%3Abilling"))
    assert _rows(page) == 12

    page.goto(f"{server.address}/runs/{seeded.other_model}")
    expect(page.get_by_role("link", name="Last filter: topic:billing")).to_be_visible()
    field.focus()
    field.press("ArrowDown")
    expect(page.get_by_role("option").first).to_contain_text("topic:billing")
    field.press("Enter")
    expect(field).to_have_value("topic:billing")


def test_rows_are_walked_and_opened_with_keys_within_the_filter(page: Page, server: Served, seeded: Seeded) -> None:
    page.goto(f"{server.address}/runs/{seeded.better}?q=flaky&sort=correct")
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    selected = page.locator("tr[aria-selected=true]")
    expect(page.locator("[data-position]")).to_have_text(f"2 of {_shown(page)}")
    wanted = selected.get_attribute("data-href") or ""
    assert page.evaluate("document.activeElement.closest('tr').getAttribute('aria-selected')") == "true"
    page.keyboard.press("Enter")

    page.wait_for_url(urljoin(page.url, wanted))
    assert parse_qs(urlsplit(page.url).query) == {"q": ["flaky"], "sort": ["correct"]}


def test_a_run_is_watched_until_it_ends_and_then_shows_its_results(page: Page, server: Served) -> None:
    run_id = server.client.start_run(
        dataset="support",
        model="slow/default",
        judge="mock/judge",
        rubric="house",
        metrics=[],
        samples=4,
        max_cost=2,
        max_concurrency=4,
    ).id
    page.goto(f"{server.address}/runs/{run_id}")
    grid = page.locator("#grid [data-states]")
    expect(page).to_have_title(re.compile(r"^[1-9]\d? % · support × slow/default"), timeout=_SOON)
    expect(page.locator("[data-part=cases]")).to_have_text(re.compile(r"[1-9]\d* of 48 cases done"), timeout=_SOON)
    expect(grid).to_have_attribute("data-states", re.compile(r"[fkpe]"), timeout=_SOON)
    expect(page.locator("#first-failures li a").first).to_be_visible(timeout=_SOON)
    expect(page.locator("[data-part=left]")).to_have_text(re.compile(r"\d+:\d\d left"), timeout=_SOON)
    squares = page.locator("#grid svg a")
    expect(squares).to_have_count(48)
    expect(squares.nth(1)).to_have_attribute("href", f"/runs/{run_id}/cases/delivery-001")
    expect(squares.nth(1)).to_have_attribute("tabindex", "-1")
    titles = {title.partition(": ")[2] for title in page.locator("#grid svg title").all_text_contents()}
    assert titles <= {"passing", "flaky", "failing", "errors", "not done"}
    expect(page.locator(".watch")).to_contain_text("of at most $2.00")

    expect(page.locator(".watch")).to_have_count(0, timeout=2 * _SOON)
    expect(page.locator(".facts")).to_contain_text("completed")
    assert _shown(page) == 48


def test_a_run_is_cancelled_and_resumed_on_its_page(page: Page, server: Served) -> None:
    run_id = server.client.start_run(
        dataset="support",
        model="slow/default",
        judge="mock/judge",
        rubric="house",
        metrics=[],
        samples=30,
        max_concurrency=8,
    ).id
    page.goto(f"{server.address}/runs/{run_id}")
    expect(page.locator("[data-part=count]")).to_have_text(re.compile(r"[1-9]\d* of 1440"), timeout=_SOON)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".facts .status")).to_have_text("aborted", timeout=_SOON)
    page.get_by_role("button", name="Resume the run").click()
    expect(page.locator(".watch")).to_be_visible(timeout=_SOON)
    server.client.cancel(run_id)
    server.client.wait(run_id)


def test_the_page_recovers_when_the_server_is_killed_and_started_again(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, seeded: Seeded
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("killed"))
    config = {"version": 1, "providers": {"slow": {"kind": "mock", "options": {"latency_ms": 150}}}}
    workspace.write("prompt_evaluator.yaml", yaml.safe_dump(config))
    text = (seeded.folder / "benchmarks/support.jsonl").read_bytes()
    workspace.write("benchmarks/support.jsonl", text)
    context = browser.new_context()
    page = context.new_page()
    with served(workspace) as server:
        port = urlsplit(server.address).port or 0
        run_id = server.client.start_run(
            dataset="support", model="slow/default", metrics=["exact_match"], samples=6, max_concurrency=4
        ).id
        page.goto(f"{server.address}/runs/{run_id}")
        expect(page.locator("[data-part=count]")).to_have_text(re.compile(r"[1-9]\d* of 288"), timeout=_SOON)
        server.kill()
        expect(page.locator("[data-part=connection]")).to_contain_text("does not answer", timeout=_SOON)
    with served(workspace, port=port):
        expect(page.locator("[data-part=connection]")).to_have_text("", timeout=_SOON)
        expect(page.locator(".watch")).to_have_count(0, timeout=_SOON)
        expect(page.locator(".facts .status")).to_have_text("completed")
    context.close()


def test_a_run_is_noted_tagged_and_deleted_on_its_page(page: Page, server: Served) -> None:
    run_id = server.client.wait(
        server.client.start_run(dataset="support", model="mock/default", metrics=["exact_match"], samples=1).id
    ).id
    page.goto(f"{server.address}/runs/{run_id}#describe")
    page.get_by_label("Note").fill("Seen by a person.")
    page.get_by_role("button", name="Save the note").click()
    expect(page.locator(".facts .note")).to_have_text("Seen by a person.")
    page.get_by_label("Tag", exact=True).fill("team")
    page.get_by_label("Value of the tag").fill("search")
    page.get_by_role("button", name="Add").click()
    expect(page.locator(".facts .tag", has_text="team=search")).to_be_visible()
    page.get_by_role("button", name="team=search").click()
    expect(page.locator(".facts .tag", has_text="team=search")).to_have_count(0)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    page.wait_for_url(f"{server.address}/")

    assert run_id not in {run.id for run in server.client.all_runs()}


def test_what_failed_is_retried_from_the_page(page: Page, server: Served) -> None:
    run = server.client.wait(
        server.client.start_run(dataset="support", model="flawed/default", metrics=["exact_match"], samples=1).id
    )
    assert run.status == "partial"
    page.goto(f"{server.address}/runs/{run.id}")
    expect(page.locator("main")).to_contain_text("RequestRefusedError")
    with page.expect_response(lambda answer: answer.request.method == "PATCH") as sent:
        page.get_by_role("button", name="Retry what failed").click()

    assert sent.value.status == 200
    assert server.client.wait(run.id).completed_at != run.completed_at
