"""What is kept of a run, and how it is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from stores import ON_FILE, ON_SERVER, everything, sql

from prompt_evaluator.errors import StoreError, UnknownNameError
from prompt_evaluator.model import Criterion, JudgeConfig, MetricUse, PromptRef, Rubric, Secret, Target, TestCase
from prompt_evaluator.store import Store, StoredCase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prompt_evaluator.model import RunRecord, Unit

    MakeRecord = Callable[..., RunRecord]
    MakeUnit = Callable[..., Unit]
    MakeCases = Callable[..., Iterator[TestCase]]


def test_a_run_comes_back_as_it_was_given(store: Store, record: MakeRecord) -> None:
    metric = Criterion(name="clarity", description="clear", min_score=1, max_score=5)
    given = record(
        parent_run_id="run-0000",
        target=Target(
            model="mock/default",
            identity="mock",
            prompt=PromptRef(path="/p", hash="sha256:1", text="Sei höflich ☂", version="v1"),
        ),
        rubric=Rubric(name="r", hash="sha256:2", metrics=(metric,)),
        judge=JudgeConfig(model="mock/judge", identity="mock", temperature=0.0, repeats=3),
        tags={"team": "a"},
        filters={"where": ["n>3"], "max_cases": 4},
        fail_under={"clarity": 4.0},
    )

    store.create_run(given, [])

    assert store.run("run-0001") == given


def test_a_plan_is_replaced_and_the_rest_of_the_run_stays(store: Store, record: MakeRecord) -> None:
    given = record(fail_under={"clarity": 4.0})
    store.create_run(given, [])
    held = msgspec.structs.replace(given.plan, fail_under={"clarity": 3.0}, fail_over={"rude": 0.1})

    store.replace_plan(held)

    assert store.run("run-0001") == msgspec.structs.replace(given, plan=held)
    with pytest.raises(UnknownNameError):
        store.replace_plan(msgspec.structs.replace(held, run_id="run-0002"))


def test_cases_come_back_in_file_order_from_any_position(store: Store, record: MakeRecord) -> None:
    given = [
        TestCase(id="ü/../x", input="a\x00b", metadata={"big": 2**70, "deep": [{"a": None}]}),
        TestCase(id="", input="", checks=(MetricUse(metric="includes", options={"phrases": ["x"]}),)),
        TestCase(id="Z" * 300, input="ends"),
    ]
    store.create_run(record(), iter(given))

    assert store.cases("run-0001") == [StoredCase(at, case) for at, case in enumerate(given)]
    assert store.cases("run-0001", start=1, limit=1) == [StoredCase(1, given[1])]
    assert store.cases("run-0001", start=3) == []
    assert list(store.case_ids("run-0001")) == [case.id for case in given]
    assert list(store.case_ids("nothing")) == []


def test_thousands_of_cases_are_read_in_pages(store: Store, record: MakeRecord, cases: MakeCases) -> None:
    store.create_run(record(), cases(3_001))

    pages = [store.cases("run-0001", start=start) for start in range(0, 3_001, 256)]

    assert [case.position for page in pages for case in page] == list(range(3_001))
    assert list(store.case_ids("run-0001")) == [f"case-{at}" for at in range(3_001)]


def test_a_stream_of_cases_that_breaks_leaves_nothing_behind(store: Store, record: MakeRecord) -> None:
    def broken() -> Iterator[TestCase]:
        yield from (TestCase(id=str(at), input="") for at in range(1_000))
        raise ValueError("the file ends here")

    with pytest.raises(ValueError, match="ends here"):
        store.create_run(record(), broken())

    assert store.runs() == []
    assert list(store.case_ids("run-0001")) == []


@pytest.mark.parametrize("ids", [["a", "a"], []], ids=["equal case ids", "equal run ids"])
def test_what_is_there_already_is_refused_and_kept(store: Store, record: MakeRecord, ids: list[str]) -> None:
    store.create_run(record("run-old"), [TestCase(id="kept", input="")])
    given = [TestCase(id=case_id, input="") for case_id in ids]

    with pytest.raises(StoreError, match="same id"):
        store.create_run(record("run-new" if ids else "run-old"), given)

    assert [run.plan.run_id for run in store.runs()] == ["run-old"]
    assert store.cases("run-old")[0].case.id == "kept"


def test_the_newest_run_comes_first(store: Store, record: MakeRecord) -> None:
    for day in ("02", "03", "01"):
        store.create_run(record(f"run-{day}", started_at=f"2025-01-{day}T00:00:00Z"), [])

    assert [run.plan.run_id for run in store.runs()] == ["run-03", "run-02", "run-01"]
    assert [run.plan.run_id for run in store.runs(limit=1)] == ["run-03"]


def test_the_beginning_of_an_id_is_enough_when_only_one_run_has_it(store: Store, record: MakeRecord) -> None:
    for run_id in ("abcd-1", "abcd-2", "abcd-22", "Abcx", "ab%d-9"):
        store.create_run(record(run_id), [])

    assert store.run("Abcx").plan.run_id == "Abcx"
    assert store.run("ab%d").plan.run_id == "ab%d-9"
    assert store.run("abcd-2").plan.run_id == "abcd-2"
    with pytest.raises(StoreError, match=r"several runs: abcd-1, abcd-2, abcd-22\."):
        store.run("abcd")
    with pytest.raises(UnknownNameError):
        store.run("Abc")


def test_an_unknown_run_is_answered_with_the_nearest_or_a_few(store: Store, record: MakeRecord) -> None:
    for at in range(40):
        store.create_run(record(f"run-{at:04}", started_at=f"2025-01-01T00:00:{at:02}Z"), [])

    with pytest.raises(UnknownNameError, match="Did you mean 'run-0017'"):
        store.run("run-017")
    with pytest.raises(UnknownNameError) as far:
        store.run("zzzzzzzz")

    assert far.value.kind == "run"
    assert len(far.value.known) == 10


def test_how_a_run_stands_can_be_changed_and_nothing_else(store: Store, run_id: str) -> None:
    before = store.run(run_id)

    store.update_run(run_id, status="aborted", ended_at="2025-01-02T00:00:00Z", stop_reason="interrupted")
    stopped = store.run(run_id)
    store.update_run(run_id, status="running")

    assert (stopped.status, stopped.ended_at, stopped.stop_reason) == ("aborted", "2025-01-02T00:00:00Z", "interrupted")
    assert store.run(run_id) == before
    with pytest.raises(UnknownNameError):
        store.update_run("run-none", status="failed")


def test_the_reason_of_a_stop_may_have_any_character_of_a_service(store: Store, run_id: str) -> None:
    store.update_run(run_id, status="aborted", stop_reason="they said \x00ü☂\n")

    assert store.run(run_id).stop_reason == "they said �ü☂\n"


@pytest.mark.parametrize("run_id", ["ab\x00cd", "ab\ud800cd"], ids=ascii)
def test_an_id_that_is_no_text_is_not_found(store: Store, run_id: str) -> None:
    with pytest.raises((StoreError, UnknownNameError)):
        store.run(run_id)


@ON_SERVER
def test_an_id_that_a_server_cannot_keep_is_refused_before_anything_is(store: Store, record: MakeRecord) -> None:
    with pytest.raises(StoreError, match="cannot contain NUL"):
        store.create_run(record(), [TestCase(id="fine", input=""), TestCase(id="a\x00b", input="")])

    assert store.runs() == []


def _write(store: Store, run_id: str, *units: Unit) -> None:
    writer = store.writer(run_id)
    for one in units:
        writer.put(one)
    writer.close()


def test_units_are_found_by_case_in_a_stable_order(store: Store, run_id: str, unit: MakeUnit) -> None:
    given = [
        unit("case-1", b"d", kind="judgement", sample=0, repeat=1),
        unit("case-1", b"c", kind="judgement", sample=0),
        unit("case-1", b"b", sample=1, ok=False, data=b'{"failure": null}'),
        unit("case-1", b"e", sample=0, attempt=1),
        unit("case-1", b"f", sample=0),
        unit("case-2", b"a"),
    ]
    _write(store, run_id, *given)

    found = store.units(run_id, ["case-2", "case-1", "case-3"])

    assert found == {"case-1": [given[4], given[3], given[2], given[1], given[0]], "case-2": [given[5]], "case-3": []}
    assert store.units("another", ["case-1"]) == {"case-1": []}


def test_any_number_of_cases_can_be_asked_for_at_once(store: Store, run_id: str, unit: MakeUnit) -> None:
    _write(store, run_id, *(unit(f"case-{at}", b"n", sample=at) for at in range(2_000)))

    found = store.units(run_id, [f"case-{at}" for at in range(2_500)])

    assert sum(map(len, found.values())) == 2_000
    assert found["case-1999"][0].sample == 1_999


def test_finished_units_of_any_run_are_found_by_name_and_the_newest_wins(
    store: Store, record: MakeRecord, unit: MakeUnit
) -> None:
    for day in ("02", "03", "01"):
        store.create_run(record(f"run-{day}", started_at=f"2025-01-{day}T00:00:00Z"), [])
        _write(store, f"run-{day}", unit("case", b"shared", data=day.encode()))
    _write(store, "run-03", unit("case", b"bad", ok=False))

    found = store.finished([b"shared", b"bad", b"missing", *(str(at).encode() for at in range(1_000))])

    assert found == {b"shared": unit("case", b"shared", data=b"03")}


def test_preparations_of_any_run_are_found_by_name_and_nothing_else_is(
    store: Store, record: MakeRecord, unit: MakeUnit
) -> None:
    for day in ("02", "01"):
        store.create_run(record(f"run-{day}", started_at=f"2025-01-{day}T00:00:00Z"), [])
        _write(store, f"run-{day}", unit("", b"shared", data=day.encode()), unit("case", b"answer"))

    found = store.prepared([b"shared", b"answer", b"missing"])

    assert found == {b"shared": unit("", b"shared", data=b"02")}


@ON_FILE
def test_a_file_has_an_index_of_names_only_once_units_were_looked_up_by_name(
    store: Store, run_id: str, location: Path, unit: MakeUnit
) -> None:
    def indexes() -> set[str]:
        return {row[1] for row in sql(location, "PRAGMA index_list(units)")} - {"sqlite_autoindex_units_1"}

    _write(store, run_id, unit("", b"prepared"), unit("case", b"answer"))
    store.prepared([b"prepared"])
    before = indexes()
    for each in (store, Store.open(location)):
        assert each.finished([b"answer", b"prepared"]).keys() == {b"answer", b"prepared"}

    assert (before, indexes()) == ({"ix_units_prepared"}, {"ix_units_prepared", "ix_units_name"})


def test_a_run_has_failures_until_they_are_made_good(store: Store, run_id: str, unit: MakeUnit) -> None:
    _write(store, run_id, unit("case-1", b"fine"))
    before = store.has_failures(run_id)
    _write(store, run_id, unit("case-1", b"bad", ok=False))
    failed = store.has_failures(run_id)
    _write(store, run_id, unit("case-1", b"bad"))

    assert (before, failed, store.has_failures(run_id)) == (False, True, False)
    assert store.has_failures("another") is False


def test_no_secret_gets_into_the_store(store: Store, location: Path | str, record: MakeRecord, unit: MakeUnit) -> None:
    key = Secret("sk-live-very-secret-0815")
    leak = f"they sent {key.reveal()} back"

    store.create_run(record(note=leak), [])
    _write(store, "run-0001", unit("case", b"n", data=msgspec.json.encode([leak])))
    store.update_run("run-0001", status="failed", stop_reason=leak)

    assert key.reveal().encode() not in everything(location)
    assert store.units("run-0001", ["case"])["case"][0].data == b'["they sent [secret] back"]'
    assert store.run("run-0001").stop_reason == store.run("run-0001").plan.note == "they sent [secret] back"


@pytest.mark.parametrize("plan", [b"{}", b"\xff", b"[" * 50_000], ids=["empty", "no text", "deep"])
def test_a_plan_that_cannot_be_read_is_said_and_left_alone(
    store: Store, run_id: str, location: Path | str, plan: Any
) -> None:
    sql(location, "UPDATE runs SET plan = ?", plan)

    with pytest.raises(StoreError, match=f"Run {run_id} in .* cannot be read"):
        store.run(run_id)
