"""Runs found by any of their columns, by tags and by metrics, in pages that stay in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import run_result
from entries import each

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Criterion, DatasetRef, JudgeConfig, PromptRef, Rubric, Target
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.query import RunQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.store import Store

    MakeRecord = Callable[..., RunRecord]

TEA = DatasetRef(path="/data/tea.jsonl", hash="hash of tea", count=9, selected=7)
JUDGE = JudgeConfig(model="mock/judge", identity="mock", repeats=2)
RUBRIC = Rubric(
    name="r", hash="hash of r", metrics=(Criterion(name="clarity", description="", min_score=1, max_score=5),)
)
PROMPT = PromptRef(path=None, hash="hash of p", text="Be kind.", version="v2")


@pytest.fixture(scope="module")
def filled(shared_store: Store, record: MakeRecord) -> Store:
    """Not to be changed."""
    return fill(shared_store, record)


@pytest.fixture
def own(store: Store, record: MakeRecord) -> Store:
    """With the same runs, for a test that adds some."""
    return fill(store, record)


def fill(store: Store, record: MakeRecord) -> Store:
    kind = Target(model="openai/big", identity="openai", prompt=PROMPT)
    plans: list[dict[str, Any]] = [
        {"dataset": TEA, "tags": {"team": "a", 'odd "key"': "x"}, "note": "First 100%_Try"},
        {"dataset": TEA, "judge": JUDGE, "rubric": RUBRIC, "synthetic": True, "tags": {"team": "b"}},
        {
            "parent_run_id": "run-1",
            "target": kind,
            "judge": msgspec.structs.replace(JUDGE, repeats=3),
            "rubric": RUBRIC,
        },
        {"dataset": DatasetRef(path=None, hash="other", count=1, selected=1), "num_samples": 1},
    ]
    for at, plan in enumerate(plans, 1):
        store.create_run(record(f"run-{at}", started_at=f"2026-01-0{at}T00:00:00Z", **plan), [])
    store.update_run("run-1", status="completed", ended_at="2026", summary=run_result("run-1", mean=4.5, cost=None))
    store.update_run(
        "run-2", status="failed", summary=run_result("run-2", mean=2.0, errors={"TimedOutError": 3}, cost=9.0)
    )
    store.update_run("run-3", status="aborted", stop_reason="enough")
    return store


def ids(store: Store, *where: str, **query: Any) -> list[str]:
    page = store.query_runs(RunQuery(where=tuple(map(condition, where)), **query))
    return [line.run_id for line in page.items]


@each(
    ("where", "wanted"),
    [
        ([], "4321"),
        (["status=completed"], "1"),
        (["status!=completed"], "432"),
        (["dataset_name=tea"], "21"),
        (["dataset_name!=tea"], "43"),
        (["dataset_name=null"], "4"),
        (["dataset_hash=other"], "4"),
        (["kind=scoring"], "3"),
        (["parent_run_id=run-1"], "3"),
        (["prompt_version=v2"], "3"),
        (["rubric_hash=hash of r"], "32"),
        (["judge_model~JUDGE"], "32"),
        (["judge_hash!=null"], "32"),
        (["generator_model=openai/big"], "3"),
        (["synthetic=true"], "2"),
        (["synthetic=false", "kind=evaluation"], "41"),
        (["cases>=7", "cases<10"], "21"),
        (["num_samples=1"], "4"),
        (["cost>1"], "2"),
        (["cost=null"], "431"),
        (["tag.team=a"], "1"),
        (["tags.team!=a"], "432"),
        (['tag.odd "key"~X'], "1"),
        (["metric.clarity>4"], "1"),
        (["metric.clarity<=4.5"], "21"),
        (["metric.nothing>0"], ""),
        (["error.TimedOutError>=3"], "2"),
        (["note~100%_try"], "1"),
        (["note~100%XTry"], ""),
        (["started_at>2026-01-02T12"], "43"),
        (["stop_reason=enough"], "3"),
        (["run_id~un-2"], "2"),
    ],
    ids=str,
)
def test_runs_are_found_by_any_column_tag_and_metric(filled: Store, where: list[str], wanted: str) -> None:
    assert ids(filled, *where) == [f"run-{number}" for number in wanted]


@each(
    ("sort", "up", "down"),
    [
        ("started_at", "1234", "4321"),
        ("cost", "2134", "2431"),
        ("metric.clarity", "2134", "1243"),
        ("dataset_name", "3124", "2134"),
        ("tag.team", "1234", "2143"),
        ("synthetic", "1342", "2431"),
        ("status", "3124", "4213"),
        ("error.TimedOutError", "2134", "2431"),
    ],
)
def test_runs_come_in_any_order_with_those_without_a_value_last(filled: Store, sort: str, up: str, down: str) -> None:
    for descending, wanted in ((False, up), (True, down)):
        whole = ids(filled, sort=sort, descending=descending)
        seen: list[str] = []
        cursor: str | None = None
        while cursor or not seen:
            page = filled.query_runs(RunQuery(sort=sort, descending=descending, limit=1, cursor=cursor))
            seen += [line.run_id for line in page.items]
            cursor = page.next

        assert whole == seen == [f"run-{number}" for number in wanted]


def test_new_runs_do_not_disturb_a_list_that_is_being_paged_through(store: Store, record: MakeRecord) -> None:
    for at in range(10, 30):
        store.create_run(record(f"run-{at}", started_at=f"2026-01-{at}T00:00:00Z"), [])
    seen: list[str] = []
    cursor: str | None = None
    for at in range(100):
        page = store.query_runs(RunQuery(limit=3, cursor=cursor))
        seen += [line.run_id for line in page.items]
        store.create_run(record(f"new-{at}", started_at="2026-02-01T00:00:00Z"), [])
        cursor = page.next
        if cursor is None:
            break

    assert seen == [f"run-{at}" for at in range(29, 9, -1)]


def test_a_line_says_what_the_plan_says(filled: Store) -> None:
    line = filled.run_line("run-2")

    assert (line.dataset_name, line.dataset_path, line.dataset_hash) == ("tea", "/data/tea.jsonl", "hash of tea")
    assert (line.cases, line.num_samples, line.synthetic, line.tags) == (7, 5, True, {"team": "b"})
    assert (line.generator_model, line.judge_model, line.rubric_hash) == ("mock/default", "mock/judge", "hash of r")
    assert (line.errors, line.summary) == (
        {"TimedOutError": 3},
        run_result("run-2", mean=2.0, errors={"TimedOutError": 3}, cost=9.0),
    )
    assert (filled.run_line("run-1").judge_hash, filled.run_line("run-4").tags) == (None, {})


def test_the_judges_hash_changes_with_how_it_is_asked_and_with_nothing_else(own: Store, record: MakeRecord) -> None:
    own.create_run(record("run-5", judge=JUDGE, note="another"), [])
    hashes = [own.run_line(f"run-{at}").judge_hash for at in (2, 3, 5)]

    assert hashes[0] == hashes[2] != hashes[1]


def test_the_judges_hash_is_the_same_with_another_seed(own: Store, record: MakeRecord) -> None:
    seeded = msgspec.structs.replace(JUDGE, seed=7)
    own.create_run(record("run-5", judge=seeded, judges={"mock/other": seeded}), [])
    own.create_run(record("run-6", judge=JUDGE, judges={"mock/other": JUDGE}), [])

    hashes = [own.run_line(f"run-{at}").judge_hash for at in (5, 6)]

    assert hashes[0] is not None
    assert hashes[0] == hashes[1]


def test_an_interrupted_run_has_this_for_its_status_everywhere(filled: Store) -> None:
    gone = {"run-4"}

    def found(where: str) -> list[str]:
        page = filled.query_runs(RunQuery(where=(condition(where),)), interrupted=gone)
        return [line.run_id for line in page.items]

    assert found("status=interrupted") == ["run-4"]
    assert found("status=running") == []
    assert filled.run_line("run-4", interrupted=gone).status == "interrupted"
    first = filled.query_runs(RunQuery(sort="status", descending=True), interrupted=gone).items[0]
    assert (first.run_id, first.status) == ("run-4", "interrupted")
    assert filled.running() == ["run-4"]


def test_the_history_of_a_dataset_is_its_newest_runs_by_name_or_hash(filled: Store) -> None:
    by_name = [line.run_id for line in filled.history("tea")]

    assert by_name == ["run-2", "run-1"]
    assert [line.run_id for line in filled.history("hash of tea", limit=1)] == ["run-2"]
    assert filled.history("coffee") == []


@each(
    ("where", "said"),
    [
        ("statsu=completed", "There is no field of runs 'statsu'. Did you mean 'status'?"),
        ("plan=x", "There is no field of runs 'plan'"),
        ("summary=x", "There is no field of runs 'summary'"),
        ("metrics.clarity>1", "Did you mean 'metric.NAME'?"),
        ("cost>much", "compares with 'much', which is not a number"),
        ("cost>nan", "is not a number"),
        ("cost>1e400", "is not a number"),
        ("cost>1_000", "is not a number"),
        ("cases>" + "9" * 5_000, "is not a number"),
        ("cost~1", "uses ~ on a field that is not text"),
        ("synthetic=maybe", "Write synthetic=true or =false"),
        ("no condition", "is not a condition"),
    ],
)
def test_a_condition_that_makes_no_sense_is_a_sentence(filled: Store, where: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        ids(filled, where)

    assert said in str(refused.value)


def test_a_sort_or_cursor_that_makes_no_sense_is_a_sentence(filled: Store) -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'cost'"):
        ids(filled, sort="costs")
    with pytest.raises(ConfigurationError, match="does not belong to this list"):
        ids(filled, cursor="bm90aGluZw")
    with pytest.raises(ConfigurationError, match="at least 1"):
        ids(filled, limit=0)
