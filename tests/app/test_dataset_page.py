"""The page of a dataset: cases that a filter finds, problems as `validate` says them, and versions."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from data_site import CASES, make_data_site
from seeded_site import settings_of

from prompt_evaluator.app.dataset_facts import read_checked_facts
from prompt_evaluator.app.serving.dataset_list import dataset_list
from prompt_evaluator.app.serving.dataset_markdown import dataset_markdown
from prompt_evaluator.app.serving.dataset_page import dataset_page
from prompt_evaluator.app.stores import ServedSettings
from prompt_evaluator.app.validate import survey_as_json, validate
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.dataset_api import DatasetPageQuery, DatasetsQuery
from prompt_evaluator.server.dataset_cache import DatasetCache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from data_site import DataSite

    from prompt_evaluator.app.serving.dataset_page import DatasetPage


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> DataSite:
    return make_data_site(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def settings(site: DataSite) -> Iterator[ServedSettings]:
    found = ServedSettings.of(settings_of(site.folder))
    with closing(found.opened):
        yield found


def shown(settings: ServedSettings, name: str = "support", **query: Any) -> DatasetPage:
    return dataset_page(settings, name, DatasetPageQuery(**query), read_checked_facts, DatasetCache())


def ids(page: DatasetPage) -> list[str]:
    assert page.table
    return [row.case.id for row in page.table.rows]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("topic:delivery", 12),
        ("topic:delivery difficulty:hard", 4),
        ("text~REFUND", 12),
        ("my money back", 1),
        ("id:billing-000", 1),
        ("id~billing", 12),
        ("has:topic", CASES),
        ("has:nothing", 0),
        ("topic!=delivery", 36),
        ("check:includes", 0),
    ],
)
def test_a_filter_finds_cases_by_text_and_metadata(settings: ServedSettings, text: str, count: int) -> None:
    page = shown(settings, q=text)

    assert page.table
    assert (page.table.problem, page.table.span.matching) == (None, count)
    assert len(page.table.rows) == count


def test_the_counts_of_fields_are_the_cases_that_their_links_show(settings: ServedSettings) -> None:
    linked = [field for field in shown(settings).fields if field.filter]

    assert [field.name for field in linked] == ["topic", "difficulty", "customer"]
    for field in linked:
        assert len(ids(shown(settings, q=field.filter))) == field.cases


@pytest.mark.parametrize("text", ["failing", "flag:rude", "status:pending", "changed:worse", 'topic:"x', "topic:"])
def test_a_filter_that_cannot_be_used_is_explained_and_shows_everything(settings: ServedSettings, text: str) -> None:
    page = shown(settings, q=text)

    assert page.table
    assert page.table.problem
    assert page.table.span.matching == CASES


def test_a_case_is_shown_with_those_beside_it_in_the_filter(settings: ServedSettings) -> None:
    page = shown(settings, q="topic:billing", at=5)

    assert page.case
    assert (page.case.case.id, page.case.place, page.case.of) == ("billing-004", 2, 12)
    assert (page.case.previous, page.case.next) == (1, 9)
    assert page.last_run == "33333333-0000-4000-8000-000000000000"
    assert shown(settings, at=CASES + 1).case is None


def test_problems_are_those_that_validate_finds(settings: ServedSettings, site: DataSite) -> None:
    page = shown(settings, "broken")
    (found,) = validate([site.folder / "benchmarks/broken.jsonl"])
    said = [(each["line"], each["problem"], each["advice"]) for each in survey_as_json(found)["problems"]]

    assert [(each.line, each.what, each.advice) for each in page.facts.problems] == said
    assert page.headline.startswith("5 problems: the dataset cannot be used until they are fixed.")
    assert page.error
    assert str(site.folder) not in page.error
    assert page.table is not None  # what could be read


def test_versions_are_the_newest_first_and_the_one_of_now_is_marked(settings: ServedSettings) -> None:
    page = shown(settings)

    assert [(each.use.runs, each.is_now) for each in page.versions] == [(3, True), (1, False)]
    assert page.headline == "48 cases. The newest run used the file as it is now."
    assert [run.id[:1] for run in page.runs] == ["3", "4", "2", "1"]


def test_a_file_that_no_run_has_used_yet_says_so(tmp_path: Path) -> None:
    site = make_data_site(tmp_path)
    file = site.folder / "benchmarks/support.jsonl"
    file.write_bytes(file.read_bytes().replace(b"parcel 1 is late", b"parcel 1 is very late"))
    page = shown(ServedSettings.of(settings_of(site.folder)))

    assert page.is_unused
    assert page.headline == "48 cases. The file has changed since the newest run; no run has used it as it is now."
    assert [each.is_now for each in page.versions] == [False, False]


def test_a_dataset_that_only_runs_know_has_a_page_and_an_unknown_one_has_none(settings: ServedSettings) -> None:
    page = shown(settings, "old-name")

    assert (page.file, page.table, page.all_runs) == (None, None, 1)
    with pytest.raises(UnknownNameError, match="Did you mean 'support'"):
        shown(settings, "suport")


def test_the_list_has_every_dataset_with_what_is_wrong_and_who_used_it(
    settings: ServedSettings, site: DataSite
) -> None:
    found = dataset_list(settings, DatasetsQuery(), read_checked_facts)
    rows = {row.name: row for row in found.rows}

    assert found.headline == "7 datasets, 2 of which cannot be used. Runs know 1 more."
    assert (rows["support"].cases, rows["support"].use and rows["support"].use.runs) == (CASES, 4)
    assert (rows["broken"].problems, rows["nothing"].problems, rows["old-name"].origin) == (5, 1, "runs")
    assert not any(str(site.folder) in (row.error or "") for row in found.rows)
    only = dataset_list(settings, DatasetsQuery(show="broken"), read_checked_facts)
    assert [row.name for row in only.rows] == ["broken", "nothing"]
    assert [row.name for row in dataset_list(settings, DatasetsQuery(q="RETRIEVAL"), read_checked_facts).rows] == [
        "retrieval-qa"
    ]


def test_the_markdown_says_the_same(settings: ServedSettings, site: DataSite) -> None:
    text = dataset_markdown(shown(settings))

    assert "48 cases. The newest run used the file as it is now." in text
    assert f"| now | 3 | {site.newest[:8]} (2026-11-16) |" in text
    assert "<script" not in dataset_markdown(shown(settings, "broken"))
