"""Names of runs: ids and their beginnings, the newest runs, baselines, tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from entries import each

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.release import Baseline
from prompt_evaluator.model.run import NOT_STARTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.store import Store

    MakeRecord = Callable[..., RunRecord]


@pytest.fixture
def add(store: Store, record: MakeRecord) -> Callable[..., None]:
    def added(run_id: str, day: int, **plan: Any) -> None:
        store.create_run(record(run_id, started_at=f"2026-01-{day:02}T00:00:00Z", **plan), ())

    return added


@pytest.fixture
def three(store: Store, add: Callable[..., None]) -> Store:
    add("bbbb-middle", 2, tags={"team": "docs", "stage": "draft"})
    add("aaaa-newest", 3, tags={"team": "docs"})
    add("cccc-oldest", 1, tags={"team": "web", "docs": "yes", "branch": "feature/x"})
    return store


@each(
    ("name", "run_id"),
    [
        ("@last", "aaaa-newest"),
        ("@last~0", "aaaa-newest"),
        ("@last~1", "bbbb-middle"),
        ("@last~2", "cccc-oldest"),
        ("bbbb", "bbbb-middle"),
        ("bbbb-middle", "bbbb-middle"),
        ("tag:team=docs", "aaaa-newest"),
        ("team=docs", "aaaa-newest"),
        ("stage=draft", "bbbb-middle"),
        ("branch=feature/x", "cccc-oldest"),
        ("draft", "bbbb-middle"),
        ("stage", "bbbb-middle"),
        ("tag:stage", "bbbb-middle"),
        ("tag:web", "cccc-oldest"),
        ("docs", "aaaa-newest"),
    ],
)
def test_a_name_means_the_newest_run_that_it_fits(three: Store, name: str, run_id: str) -> None:
    assert three.full_id(name) == run_id
    assert three.run(name).plan.run_id == run_id
    assert three.run_line(name).run_id == run_id


def test_a_pinned_baseline_is_a_name(three: Store) -> None:
    three.pin(Baseline(name="release", run_id="cccc-oldest", pinned_at="2026-01-05T00:00:00Z"))
    three.pin(Baseline(name="draft", run_id="aaaa-newest", pinned_at="2026-01-05T00:00:00Z"))

    assert three.full_id("release") == "cccc-oldest"
    assert three.full_id("draft") == "aaaa-newest"
    assert three.full_id("tag:draft") == "bbbb-middle"


def test_going_back_too_far_says_how_many_runs_there_are(three: Store) -> None:
    with pytest.raises(ConfigurationError) as refused:
        three.full_id("@last~5")

    assert str(refused.value) == (
        "@last~5 goes back further than the first run. There are only 3, from @last to @last~2."
    )


def test_one_run_and_no_run_have_sentences_of_their_own(store: Store, add: Callable[..., None]) -> None:
    with pytest.raises(ConfigurationError, match="none has been started yet"):
        store.full_id("@last")
    add("only", 1)
    with pytest.raises(ConfigurationError, match="There is only 1, @last"):
        store.full_id("@last~1")


@pytest.mark.parametrize("name", ["@first", "@last-1", "@last~", "@last~x", "@", "@last~99999999999999999999"])
def test_what_looks_like_last_but_is_not_says_how_to_write_it(three: Store, name: str) -> None:
    with pytest.raises(ConfigurationError, match="Write @last for the newest run, @last~1"):
        three.full_id(name)


def test_an_unknown_tag_lists_the_tags_there_are(three: Store) -> None:
    with pytest.raises(UnknownNameError) as refused:
        three.full_id("tag:price=9")

    assert str(refused.value) == (
        "There is no run with the tag 'price=9'. Known: branch=feature/x, docs=yes, stage=draft, team=docs, team=web."
    )
    with pytest.raises(UnknownNameError, match="Did you mean 'team=docs'"):
        three.full_id("team=doc")


@pytest.mark.parametrize(
    ("name", "near"), [("drafd", "draft"), ("aaaa-newer", "aaaa-newest"), ("stagee=draft", "stage")]
)
def test_a_mistyped_name_is_corrected(three: Store, name: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{near}"):
        three.full_id(name)


def test_runs_that_were_never_started_and_second_judgements_are_not_the_last(
    three: Store, record: MakeRecord, add: Callable[..., None]
) -> None:
    planned = record("planned", started_at="2026-01-09T00:00:00Z", tags={"team": "docs"})
    three.create_run(msgspec.structs.replace(planned, status="aborted", stop_reason=NOT_STARTED), ())
    add("scored", 8, parent_run_id="aaaa-newest", tags={"team": "docs"})

    assert three.full_id("@last") == "aaaa-newest"
    assert three.full_id("team=docs") == "aaaa-newest"
    assert three.full_id("planned") == "planned"
    with pytest.raises(ConfigurationError, match="only 3"):
        three.full_id("@last~3")


def test_a_run_in_progress_and_an_interrupted_one_are_the_last(three: Store) -> None:
    three.update_run("aaaa-newest", status="aborted", stop_reason="Ctrl-C")

    assert three.full_id("@last") == "aaaa-newest"
    three.start_run("cccc-oldest", "2026-01-10T00:00:00Z")
    assert three.full_id("@last") == "cccc-oldest"


def test_a_strange_name_is_unknown_and_not_a_crash(three: Store) -> None:
    for name in ("", "=", "tag:", "tag:=", "'; DROP TABLE runs", "\ud800", "a\0b", "x" * 5_000, "%", "____"):
        with pytest.raises(ConfigurationError):
            three.full_id(name)
