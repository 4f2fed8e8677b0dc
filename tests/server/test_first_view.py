"""The first view of a server that has just started: it is made from the columns of a run, and says what rows say."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from asgi_site import asgi_site
from compared_site import store_of
from seeded_site import large_run
from stores import sql
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

FILTERS = ("", "failing", "flaky clarity<4", "flag:rude", "topic:billing errors", "customer:c7")
SORTS = ("position", "-position", "clarity", "-clarity", "-flakiness")
PATHS = (
    "/",
    *(f"/runs/large?q={quote(q)}&sort={sort}" for q in FILTERS for sort in SORTS),
    "/runs/large/slices",
    "/runs/large/cases/case-00007?q=flaky&sort=-clarity",
)


def _pages(folder: Path) -> dict[str, str]:
    with asgi_site(folder, make=False) as site:
        answers = {path: site.send("GET", path, headers=(("accept", "text/html"),)) for path in PATHS}
    assert {answer.status for answer in answers.values()} == {200}
    return {path: answer.body.decode() for path, answer in answers.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a run that has ended."""
    Workspace(tmp_path).configure(version=1)
    with closing(store_of(tmp_path)) as store:
        large_run(store, 2_100, samples=2)
    return tmp_path


def test_pages_of_a_run_are_the_same_with_its_columns_and_without(folder: Path) -> None:
    (location,) = folder.rglob("store.db")
    by_columns = _pages(folder)
    assert sql(location, "DELETE FROM case_columns RETURNING position") == [(0,)]

    by_rows = _pages(folder)

    for path in PATHS:
        assert by_columns[path] == by_rows[path], path


def test_counts_of_a_page_are_those_of_the_columns(folder: Path) -> None:
    (location,) = folder.rglob("store.db")
    before = _pages(folder)["/runs/large?q=&sort=position"]
    sql(location, "UPDATE case_results SET failing = NOT failing, flaky = NOT flaky WHERE position >= 50")

    after = _pages(folder)["/runs/large?q=&sort=position"]

    assert after == before
