"""Result rows: written behind the units of their case, replaced as a whole, the same however they were made."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import JUDGES, case_result, failed_sample, run_result, sample, stats
from stores import PROGRESS, everything, sql

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model import CallFailure, Secret, TestCase, ToolCall
from prompt_evaluator.model.query import CaseFlag, CaseMetric, CaseQuery, RunQuery
from prompt_evaluator.model.release import Baseline
from prompt_evaluator.model.result import CriterionScore, MetricScore, RepeatResult
from prompt_evaluator.store.result_tables import RESULT_TABLES
from prompt_evaluator.store.writer import CASE_CAPACITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prompt_evaluator.model import RunRecord, Unit
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store import Store

    MakeRecord = Callable[..., RunRecord]


def put(store: Store, run_id: str, *cases: tuple[int, CaseResult]) -> None:
    writer = store.writer(run_id)
    for position, case in cases:
        writer.put_case(position, case, JUDGES)
    writer.close()


def rows(location: Path | str) -> dict[str, list[tuple[Any, ...]]]:
    return {table.name: sorted(sql(location, f"SELECT * FROM {table.name}"), key=repr) for table in RESULT_TABLES}


def test_a_finished_case_can_be_looked_at_with_all_that_was_said(store: Store, run_id: str) -> None:
    put(store, run_id, (3, case_result("case-3")))

    detail = store.case_detail(run_id, "case-3")

    line = detail.case
    assert (line.position, line.status, line.input, line.metadata) == (3, "completed", "input 3", {"n": 3})
    assert (line.cost, line.latency_ms) == (1.5, 150.0)
    assert (line.flaky, line.flagged, line.failing, line.flakiness) == (False, False, False, 0.0)
    assert line.metrics["clarity"] == CaseMetric(
        mean=4.0, std=0.0, min=4.0, max=4.0, count=2, passes=2, missing=0, variability="LOW", repeat_std=None
    )
    assert line.flags == {"rude": CaseFlag(raised=0, asked=2)}
    first = detail.samples[0]
    assert (first.sample, first.attempt, first.status, first.answer) == (0, 1, "completed", "Answer 0 to case-3")
    assert first.answer_hash == hashlib.sha256(b"Answer 0 to case-3").hexdigest()
    assert first.tool_calls == (ToolCall(name="look_up", arguments={"what": "tea"}, id="1"),)
    assert first.earlier_attempts[0].failed_checks == ("length",)
    assert (first.flags, first.comment, first.finish_reason) == ({"rude": False}, "fine", "stop")
    clarity, length = first.scores["clarity"], first.scores["length"]
    assert (clarity.judge, clarity.value, clarity.passed, clarity.reason) == ("mock/judge", 4.0, True, "clear enough")
    assert (length.judge, length.outcome, length.details, length.repeats) == (None, "scored", {"n": 12}, ())


def test_errors_skips_and_repeats_are_kept_as_they_were(store: Store, run_id: str) -> None:
    said = RepeatResult(metrics={"clarity": CriterionScore(5.0, "yes", passed=True)}, flags={}, error=None)
    broken = RepeatResult(metrics=None, flags=None, error="no JSON")
    skipped = MetricScore(status="skipped", score=None, passed=None, reason="no reference")
    twice = MetricScore(status="scored", score=0.5, passed=False, reason="", repeats=(1.0, None, 0.0))
    odd = sample("case-0", 0, judge_repeats=(said, broken), scores={"likeness": skipped, "length": twice})
    case = case_result(
        samples=(odd, failed_sample("case-0", 1)),
        status="partial",
        missing_scores={"clarity": 1, "helpful": 2},
        error_message="TimedOutError happened",
    )
    put(store, run_id, (0, case))

    detail = store.case_detail(run_id, "case-0")

    first, second = detail.samples
    assert first.scores["clarity"].repeats == (5.0, None)
    assert (first.scores["likeness"].outcome, first.scores["likeness"].reason) == ("skipped", "no reference")
    assert first.scores["length"].repeats == (1.0, None, 0.0)
    assert (second.error_kind, second.error_message, second.answer) == ("TimedOutError", "TimedOutError happened", None)
    assert second.scores == {}
    assert (detail.case.error_kinds, detail.case.error_message) == (("TimedOutError",), "TimedOutError happened")
    assert detail.case.metrics["clarity"].missing == 1
    assert (detail.case.metrics["helpful"].count, detail.case.metrics["helpful"].mean) == (0, None)


@pytest.mark.parametrize(
    ("scores", "flaky", "failing", "flakiness"),
    [
        ((5.0, 5.0, 5.0, 5.0), False, False, 0.0),
        ((5.0, 5.0, 5.0, 1.0), True, False, 0.25),
        ((5.0, 5.0, 1.0, 1.0), True, False, 0.5),
        ((5.0, 1.0, 1.0, 1.0), True, True, 0.25),
        ((1.0, 1.0, 1.0, 1.0), False, True, 0.0),
    ],
    ids=str,
)
def test_a_case_is_flaky_when_its_samples_disagree_and_failing_when_fewer_than_half_pass(  # noqa: PLR0913 - a table
    store: Store, run_id: str, scores: tuple[float, ...], *, flaky: bool, failing: bool, flakiness: float
) -> None:
    put(store, run_id, (0, case_result(per_metric_stats={"clarity": stats(*scores)})))

    line = store.case_detail(run_id, "case-0").case

    assert (line.flaky, line.failing, line.flakiness) == (flaky, failing, flakiness)


def test_a_case_that_is_done_again_leaves_nothing_of_its_old_rows(
    store: Store, run_id: str, location: Path | str
) -> None:
    fewer = case_result(
        samples=(sample(scores={}),), per_metric_stats={"clarity": stats(1.0)}, per_flag_stats={}, num_samples=1
    )
    put(store, run_id, (0, case_result()), (1, case_result("case-1")))
    put(store, run_id, (0, fewer))
    after = rows(location)
    with_one_writer = store.writer(run_id)
    with_one_writer.put_case(0, case_result(), JUDGES)
    with_one_writer.put_case(0, fewer, JUDGES)
    with_one_writer.close()

    assert rows(location) == after
    assert len(store.case_detail(run_id, "case-0").samples) == 1
    assert store.case_detail(run_id, "case-0").case.metrics.keys() == {"clarity"}
    assert len(store.case_detail(run_id, "case-1").samples) == 2


async def test_rows_are_there_while_the_run_goes_on_and_never_before_their_units(
    store: Store, run_id: str, unit: Callable[..., Unit]
) -> None:
    writer = store.writer(run_id)
    for at in range(3):
        writer.put(unit(f"case-{at}", b"%d" % at))
        writer.put_case(at, case_result(f"case-{at}"), JUDGES)
        await writer.flush()

        page = store.query_cases(CaseQuery(run_id=run_id, status="completed"))
        assert [line.position for line in page.items] == list(range(at + 1))
        assert all(store.units(run_id, [f"case-{at}"]).values())
    writer.close()


async def test_cases_that_wait_for_their_commit_count_with_their_samples(store: Store, run_id: str) -> None:
    writer = store.writer(run_id)
    most = 0
    case = case_result(samples=tuple(sample(number=number) for number in range(20)))
    for at in range(200):
        await writer.wait_for_capacity()
        writer.put_case(at % 10, msgspec.structs.replace(case, test_case_id=f"case-{at % 10}"), JUDGES)
        most = max(most, writer.pending)
    await writer.flush()
    writer.close()

    assert most < CASE_CAPACITY + 20
    assert writer.pending == 0
    assert len(store.case_detail(run_id, "case-3").samples) == 20


def test_every_case_of_a_burst_gets_its_rows_however_many_there_are(
    store: Store, record: MakeRecord, location: Path | str
) -> None:
    cases = [TestCase(id=f"case-{at}", input="?") for at in range(300)]
    made = record()
    store.create_run(made, cases)
    result = case_result(samples=tuple(sample(number=number) for number in range(5)))

    given = [(at, msgspec.structs.replace(result, test_case_id=case.id)) for at, case in enumerate(cases)]

    put(store, made.plan.run_id, *given)

    assert len(rows(location)["case_results"]) == 300
    assert len(rows(location)["sample_results"]) == 1_500


def test_rebuilt_rows_are_those_that_were_written_while_the_run_went_on(
    store: Store, run_id: str, location: Path | str
) -> None:
    known = [(at, case_result(f"case-{at}")) for at in range(9)]
    known.append((9, case_result("case-9", status="pending")))
    put(store, run_id, *known)
    before = rows(location)

    store.replace_results(run_id, iter(known), run_result, judges=JUDGES)

    assert rows(location) == before
    assert store.run_line(run_id).summary == run_result()


def test_a_rebuild_that_breaks_can_be_made_again(store: Store, run_id: str, location: Path | str) -> None:
    put(store, run_id, (0, case_result()))
    before = rows(location)

    def broken() -> Iterator[tuple[int, CaseResult]]:
        yield 1, case_result("case-1")
        raise ValueError("bug")

    with pytest.raises(ValueError, match="bug"):
        store.replace_results(run_id, broken(), run_result, judges={})
    store.replace_results(run_id, [(0, case_result())], run_result, judges=JUDGES)

    assert rows(location) == before
    with pytest.raises(UnknownNameError):
        store.replace_results("run-nowhere", [], run_result, judges={})


ODD = "50 % _x_ 'quote' \"double\" \\ back \x00 nul \U0001f600 \ud800 half; DROP TABLE runs; --"


def test_odd_texts_come_back_but_for_what_no_database_takes(store: Store, run_id: str) -> None:
    odd = sample(
        generator_output=ODD + "x" * 1_000_000,
        judge_overall_comment=ODD,
        judge_metrics={"clarity": CriterionScore(4.0, ODD, passed=True)},
        scores={
            "length": MetricScore(status="scored", score=1.0, passed=True, reason=ODD, details={"a\x00": "\\u0000\x00"})
        },
    )
    put(store, run_id, (0, case_result(samples=(odd,), error_message=ODD)))

    found = store.case_detail(run_id, "case-0").samples[0]

    kept = ODD.replace("\x00", "�").replace("\ud800", "?")
    assert found.answer == kept + "x" * 1_000_000
    assert found.comment == found.scores["clarity"].reason == found.scores["length"].reason == kept
    assert found.scores["length"].details == {"a�": "\\u0000�"}


def test_no_secret_gets_into_result_rows(store: Store, run_id: str, location: Path | str) -> None:
    key = Secret("sk-live-very-secret-4711")
    leak = f"they sent {key.reveal()} back"
    told = sample(
        generator_output=leak,
        judge_overall_comment=leak,
        judge_metrics={"clarity": CriterionScore(4.0, leak, passed=True)},
        scores={"length": MetricScore(status="failed", score=None, passed=None, reason=leak, details={"x": [leak]})},
        tool_calls=(ToolCall(name="f", arguments={"k": leak}),),
        error=CallFailure(kind="BadReplyError", message=leak),
    )
    put(store, run_id, (0, case_result(samples=(told,), error_message=leak)))
    store.save_progress(run_id, PROGRESS, run_result(errors={leak: 1}))
    store.pin(Baseline(name="b", run_id=run_id, pinned_at="2026", note=leak))

    assert key.reveal().encode() not in everything(location)
    assert store.case_detail(run_id, "case-0").samples[0].answer == "they sent [secret] back"


def test_progress_and_summary_fill_the_columns_of_a_run(store: Store, run_id: str) -> None:
    store.save_progress(run_id, PROGRESS, None)
    first = store.run_line(run_id)
    store.save_progress(run_id, PROGRESS, run_result(errors={"TimedOutError": 3}))
    second = store.run_line(run_id)
    store.update_run(run_id, status="completed", ended_at="2026", summary=run_result(mean=2.0))
    third = store.run_line(run_id)

    assert (first.progress, first.summary, first.cost, first.errors) == (PROGRESS, None, None, {})
    assert (second.summary, second.cost) == (run_result(errors={"TimedOutError": 3}), 1.5)
    assert (second.input_tokens, second.errors) == (2**40, {"TimedOutError": 3})
    assert (third.summary, third.status, third.progress) == (run_result(mean=2.0), "completed", PROGRESS)
    with pytest.raises(UnknownNameError):
        store.save_progress("run-nowhere", PROGRESS, None)


def test_what_is_known_only_after_the_last_case_is_kept_with_the_run(store: Store, record: MakeRecord) -> None:
    read: list[str] = []

    def stream() -> Iterator[TestCase]:
        for at in range(600):
            read.append(str(at))
            yield TestCase(id=str(at), input="")

    def finish() -> RunRecord:
        draft = record().plan.dataset
        return record(dataset=msgspec.structs.replace(draft, hash="known now", selected=len(read)))

    store.create_run(record(), stream(), finish=finish)

    line = store.run_line("run-0001")
    assert (line.dataset_hash, line.cases) == ("known now", 600)
    assert store.run("run-0001") == finish()


def test_a_finish_that_raises_leaves_nothing_behind(store: Store, record: MakeRecord) -> None:
    def finish() -> RunRecord:
        raise ValueError("two cases are called x")

    with pytest.raises(ValueError, match="called x"):
        store.create_run(record(), [TestCase(id="a", input="")], finish=finish)

    assert store.query_runs(RunQuery()).items == ()
    assert list(store.case_ids("run-0001")) == []


def test_a_case_has_the_same_hash_wherever_it_is_written_down(store: Store, record: MakeRecord) -> None:
    here = TestCase(id="a", input="x", metadata={"k": 1, "l": 2}, file="/one.jsonl", line=3)
    there = TestCase(id="a", input="x", metadata={"l": 2, "k": 1}, file="/two.jsonl", line=30)
    changed = TestCase(id="a", input="x", metadata={"l": 2, "k": 2})
    for at, case in enumerate((here, there, changed)):
        store.create_run(record(f"run-{at}"), [case])

    hashes = [store.case_detail(f"run-{at}", "a").case.content_hash for at in range(3)]

    assert hashes[0] == hashes[1] != hashes[2]
    assert (store.case_detail("run-1", "a").case.file, store.case_detail("run-1", "a").case.line) == ("/two.jsonl", 30)


def test_a_case_gets_its_rows_a_moment_later_though_nothing_follows_and_nobody_waits(store: Store, run_id: str) -> None:
    writer = store.writer(run_id)
    writer.put_case(0, case_result(), JUDGES)

    until = time.monotonic() + 30
    while store.case_detail(run_id, "case-0").case.status == "pending" and time.monotonic() < until:
        time.sleep(0.01)

    assert store.case_detail(run_id, "case-0").case.status == "completed"
    writer.close()
    assert writer.pending == 0
