"""Pages of the cases of a run: every filter, every order, nothing twice and nothing left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import JUDGES, case_result, failed_sample, flag, sample, stats
from entries import each

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import TestCase
from prompt_evaluator.model.case_columns import DONE, FAILING, FLAGGED, FLAKY, HAS_ERRORS
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.error_pattern import error_name
from prompt_evaluator.model.query import CaseQuery, Neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store import Store

    MakeRecord = Callable[..., RunRecord]

RUN = "run-0001"
CASES = [
    TestCase(id="good", input="How long does GREEN tea steep?", metadata={"topic": "tea", "level": 1}),
    TestCase(id="flaky", input="100% of_it", metadata={"topic": "tea", "level": 2, "tags": ["a", "b"]}),
    TestCase(id="bad", input="Ändere das", metadata={"topic": "coffee", "deep": {"er": [3]}, "big": 2**70}),
    TestCase(id="broken", input='it\'s "quoted" \\ ☕', metadata={"a.b": "dotted"}),
    TestCase(id="pending", input="later tea", metadata={"topic": "tea"}),
]


def answers(case_id: str, *texts: str, **given: Any) -> tuple[Any, ...]:
    return tuple(sample(case_id, at, generator_output=text, **given) for at, text in enumerate(texts))


RESULTS: list[CaseResult] = [
    case_result("good", samples=answers("good", "two minutes", "2 min", cost=1.0), per_flag_stats={"rude": flag(0)}),
    case_result(
        "flaky",
        samples=answers("flaky", "about 50%", "a_b", cost=3.0, latency_ms=7.0),
        per_metric_stats={"clarity": stats(5.0, 3.0), "length": stats(1.0, pass_at=1.0)},
        per_flag_stats={"rude": flag(1), "leaks": flag(0)},
    ),
    case_result(
        "bad",
        samples=answers("bad", "NÖ", "nein", cost=2.0),
        per_metric_stats={"clarity": stats(1.0, 2.0)},
        per_flag_stats={"rude": flag(0), "leaks": flag(2)},
    ),
    case_result(
        "broken",
        samples=(failed_sample("broken", 0), failed_sample("broken", 1, "RateLimitedError")),
        per_metric_stats={},
        missing_scores={"clarity": 2},
        per_flag_stats={},
        status="failed",
        error_message="TimedOutError happened",
    ),
]


@pytest.fixture(scope="module")
def filled(shared_store: Store, record: MakeRecord) -> Store:
    """Not to be changed."""
    return fill(shared_store, record)


@pytest.fixture
def own(store: Store, record: MakeRecord) -> Store:
    """With the same runs, for a test that changes something."""
    return fill(store, record)


def fill(store: Store, record: MakeRecord) -> Store:
    store.create_run(record(), CASES)
    store.create_run(record("run-0002"), CASES)
    writer = store.writer(RUN)
    for at, result in enumerate(RESULTS):
        writer.put_case(at, result, JUDGES)
    writer.close()
    other = store.writer("run-0002")
    other.put_case(4, case_result("pending", per_metric_stats={"only here": stats(1.0)}), {})
    other.close()
    return store


def ids(store: Store, **query: Any) -> list[str]:
    return [line.case_id for line in store.query_cases(CaseQuery(run_id=RUN, **query)).items]


def where(*texts: str) -> tuple[Any, ...]:
    return tuple(map(condition, texts))


ASKED = [
    ({}, ["good", "flaky", "bad", "broken", "pending"]),
    ({"descending": True}, ["pending", "broken", "bad", "flaky", "good"]),
    ({"status": "completed"}, ["good", "flaky", "bad"]),
    ({"status": "failed"}, ["broken"]),
    ({"status": "pending"}, ["pending"]),
    ({"status": "pending", "flaky": True}, []),
    ({"flaky": True}, ["flaky"]),
    ({"flaky": False}, ["good", "bad", "broken"]),
    ({"flagged": True}, ["flaky", "bad"]),
    ({"failing": True}, ["bad"]),
    ({"errors": True}, ["broken"]),
    ({"errors": False}, ["good", "flaky", "bad"]),
    ({"error_kind": "RateLimitedError"}, ["broken"]),
    ({"error_kind": "LimitedError"}, []),
    ({"error_kind": "%"}, []),
    ({"error_kind": error_name("TimedOutError", "TimedOutError happened")}, ["broken"]),
    ({"error_kind": error_name("TimedOutError", "RateLimitedError happened")}, []),
    ({"error_kind": error_name("TimedOutError", "TimedOutError happened"), "metadata": where("topic=tea")}, []),
    ({"error_kind": "TimedOutError/"}, ["broken"]),
    ({"flags": ("rude",)}, ["flaky"]),
    ({"flags": ("rude", "leaks")}, []),
    ({"metrics": where("clarity<4")}, ["bad"]),
    ({"metrics": where("clarity>=4")}, ["good", "flaky"]),
    ({"metrics": where("clarity=4", "length=1")}, ["good", "flaky"]),
    ({"metrics": where("clarity!=4")}, ["bad"]),
    ({"metrics": where("clarity<4"), "flaky": True}, []),
    ({"metrics": where("clarity<5"), "sort": "clarity"}, ["bad", "good", "flaky"]),
    ({"metadata": where("topic=tea")}, ["good", "flaky", "pending"]),
    ({"metadata": where("topic=tea", "level>1")}, ["flaky"]),
    ({"metadata": where("tags=b")}, ["flaky"]),
    ({"metadata": where("deep.er=3")}, ["bad"]),
    ({"metadata": where("a.b~DOT")}, ["broken"]),
    ({"metadata": where(f"big={2**70}")}, ["bad"]),
    ({"metadata": where("topic!=tea"), "sort": "clarity"}, ["bad", "broken"]),
    ({"metadata": where("topic=tea"), "failing": False}, ["good", "flaky"]),
    ({"text": "green TEA"}, ["good"]),
    ({"text": "tea"}, ["good", "pending"]),
    ({"text": "100% of_"}, ["flaky"]),
    ({"text": "50%"}, ["flaky"]),
    ({"text": "%"}, ["flaky"]),
    ({"text": "_"}, ["flaky"]),
    ({"text": "äNDERE"}, ["bad"]),
    ({"text": "nö"}, ["bad"]),
    ({"text": '"quoted" \\ ☕'}, ["broken"]),
    ({"text": "' OR 1=1 --"}, []),
    ({"text": "tea", "sort": "clarity", "descending": True}, ["good", "pending"]),
    ({"sort": "cost"}, ["good", "bad", "flaky", "broken", "pending"]),
    ({"sort": "cost", "descending": True}, ["flaky", "bad", "good", "broken", "pending"]),
    ({"sort": "latency"}, ["flaky", "good", "bad", "broken", "pending"]),
    ({"sort": "flakiness", "descending": True}, ["flaky", "good", "bad", "broken", "pending"]),
    ({"sort": "clarity"}, ["bad", "good", "flaky", "broken", "pending"]),
    ({"sort": "clarity", "descending": True}, ["good", "flaky", "bad", "broken", "pending"]),
    ({"sort": "metric.clarity"}, ["bad", "good", "flaky", "broken", "pending"]),
    ({"sort": "clarity", "status": "pending"}, ["pending"]),
    ({"sort": "cost", "flagged": True}, ["bad", "flaky"]),
    ({"sort": "length", "status": "completed"}, ["good", "flaky", "bad"]),
]


@each(("query", "wanted"), ASKED, ids=[str(query) for query, _ in ASKED])
def test_a_query_finds_what_it_asks_for_whole_and_in_pages(
    filled: Store, query: dict[str, Any], wanted: list[str]
) -> None:
    assert ids(filled, **query) == wanted

    asked = CaseQuery(run_id=RUN, **query, limit=1)
    order = filled.case_order(asked)
    seen: list[str] = []
    cursor = None
    while len(seen) <= len(wanted):
        page = filled.query_cases(msgspec.structs.replace(asked, cursor=cursor))
        assert page == filled.query_cases(msgspec.structs.replace(asked, cursor=cursor), order)
        seen += [line.case_id for line in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == wanted
    assert filled.count_cases(asked) == len(wanted)
    assert filled.matching_ids(asked) == [case.id for case in CASES if case.id in wanted]
    assert [CASES[position].id for position in filled.case_states(asked).positions] == filled.matching_ids(asked)


def test_states_flags_and_samples_say_of_cases_what_their_lines_say(filled: Store) -> None:
    found = filled.case_states(CaseQuery(run_id=RUN))
    states = {CASES[at].id: state for at, state in zip(found.positions, found.states, strict=True)}
    ticks = filled.sample_ticks(RUN, range(len(CASES)), ["clarity"])

    for line in filled.query_cases(CaseQuery(run_id=RUN)).items:
        said = (line.status != "pending", line.failing, line.flaky, line.flagged, bool(line.error_kinds))
        assert tuple(bool(states[line.case_id] & bit) for bit in (DONE, FAILING, FLAKY, FLAGGED, HAS_ERRORS)) == said
    assert [filled.count_flags(RUN, [at]) for at in (1, 2)] == [{"rude": 1, "leaks": 0}, {"rude": 0, "leaks": 1}]
    assert [tick.value for tick in ticks[0]["clarity"]] == [4.0, 4.0]
    assert [len(piece.metadata) for piece in filled.case_kinds(RUN)] == [5]
    assert [news.case_id for news in filled.first_problems(RUN, limit=5)] == ["bad", "broken"]


@each(("query", "wanted"), ASKED, ids=str)
def test_every_case_knows_its_place_and_its_neighbours(filled: Store, query: dict[str, Any], wanted: list[str]) -> None:
    order = filled.case_order(CaseQuery(run_id=RUN, **query, limit=1))
    found = {case.id: filled.neighbours(RUN, case.id, order) for case in CASES}

    for at, case_id in enumerate(wanted):
        previous, after = wanted[at - 1] if at else None, wanted[at + 1] if at + 1 < len(wanted) else None
        assert found[case_id] == Neighbours(previous=previous, next=after, place=at + 1, total=len(wanted))
    for case_id in found.keys() - wanted:
        first = wanted[0] if wanted else None
        assert found[case_id] == Neighbours(previous=None, next=first, place=None, total=len(wanted))


def test_an_order_starts_at_the_beginning_whatever_page_is_shown(filled: Store) -> None:
    page = filled.query_cases(CaseQuery(run_id=RUN, sort="clarity", limit=2))

    order = filled.case_order(CaseQuery(run_id=RUN, sort="clarity", limit=2, cursor=page.next))

    assert [*order] == [2, 0, 1, 3, 4]
    assert filled.neighbours("run-0001", "nowhere", order).place is None


def test_a_pending_case_has_its_input_and_no_results(filled: Store) -> None:
    line = filled.query_cases(CaseQuery(run_id=RUN, status="pending")).items[0]

    assert (line.case_id, line.input, line.status, line.metadata) == (
        "pending",
        "later tea",
        "pending",
        {"topic": "tea"},
    )
    assert (line.metrics, line.flags, line.cost, line.error_kinds) == ({}, {}, None, ())


def test_large_numbers_in_metadata_come_back_whole(filled: Store) -> None:
    assert filled.case_detail(RUN, "bad").case.metadata["big"] == 2**70


def test_pages_stay_in_order_while_cases_finish(store: Store, record: MakeRecord) -> None:
    store.create_run(record(), [TestCase(id=f"case-{at}", input="x") for at in range(40)])
    writer = store.writer(RUN)

    def finish(positions: Sequence[int]) -> None:
        for at in positions:
            scores = stats(1.0 + at % 4)
            writer.put_case(at, case_result(f"case-{at}", per_metric_stats={"clarity": scores}), JUDGES)

    finish(range(20))
    writer.close()
    seen: list[int] = []
    values: list[float] = []
    cursor: str | None = None
    for number in range(100):
        page = store.query_cases(CaseQuery(run_id=RUN, sort="clarity", status="completed", limit=3, cursor=cursor))
        seen += [line.position for line in page.items]
        values += [line.metrics["clarity"].mean or 0 for line in page.items]
        cursor = page.next
        if cursor is None:
            break
        if number < 5:
            writer = store.writer(RUN)
            finish([20 + number])
            writer.close()

    assert values == sorted(values)
    assert len(seen) == len(set(seen))
    assert set(range(20)) <= set(seen)


@each(
    ("query", "said"),
    [
        ({"sort": "claritty"}, "There is no metric 'claritty'. Did you mean 'clarity'?"),
        ({"sort": "only here"}, "There is no metric 'only here'"),
        ({"metrics": where("clearness>3")}, "There is no metric 'clearness'"),
        ({"metrics": where("clarity>high")}, "'high', which is not a number"),
        ({"metrics": where("clarity~4")}, "uses ~ on a number"),
        ({"flags": ("rood",)}, "There is no flag 'rood'. Did you mean 'rude'?"),
        ({"cursor": "garbage"}, "The cursor 'garbage' does not belong to this list. Start again without it."),
        ({"cursor": "☕"}, "does not belong to this list"),
        ({"cursor": "A" * 5_000}, "does not belong to this list"),
        ({"limit": 0}, "at least 1"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_a_sentence(filled: Store, query: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        ids(filled, **query)

    assert said in str(refused.value)


def test_a_cursor_of_another_order_is_refused(filled: Store) -> None:
    page = filled.query_cases(CaseQuery(run_id=RUN, sort="cost", limit=1))

    with pytest.raises(ConfigurationError, match="does not belong to this list"):
        filled.query_cases(CaseQuery(run_id=RUN, sort="clarity", limit=1, cursor=page.next))


def test_any_metric_may_be_asked_for_while_no_case_is_finished(store: Store, record: MakeRecord) -> None:
    store.create_run(record(), CASES)

    assert ids(store, sort="clarity") == [case.id for case in CASES]
    assert ids(store, metrics=where("clarity<3"), flags=("rude",)) == []


def test_the_beginning_of_a_runs_id_is_enough(own: Store) -> None:
    with pytest.raises(UnknownNameError):
        own.query_cases(CaseQuery(run_id="nowhere"))
    own.delete_run("run-0002")

    assert len(own.query_cases(CaseQuery(run_id="run-")).items) == 5
    assert own.case_detail("run-", "good").case.case_id == "good"


def test_an_unknown_case_is_refused_with_the_nearest(filled: Store) -> None:
    with pytest.raises(UnknownNameError, match=r"There is no test case 'flakey'. Did you mean 'flaky'\?"):
        filled.case_detail(RUN, "flakey")


def test_a_case_that_was_begun_when_the_run_stopped_is_pending_and_shows_what_is_known(
    store: Store, record: MakeRecord
) -> None:
    store.create_run(record("partly"), [TestCase(id="begun", input="?"), TestCase(id="untouched", input="?")])
    writer = store.writer("partly")
    writer.put_case(0, case_result("begun", status="pending", per_metric_stats={"clarity": stats(2.0)}), {})
    writer.close()

    pending = store.query_cases(CaseQuery(run_id="partly", status="pending")).items

    assert [(line.case_id, line.status, list(line.metrics)) for line in pending] == [
        ("begun", "pending", ["clarity"]), ("untouched", "pending", []),
    ]  # fmt: skip
    assert [line.case_id for line in store.query_cases(CaseQuery(run_id="partly", sort="clarity")).items] == [
        "begun", "untouched",
    ]  # fmt: skip
    assert store.known_cases("partly") == 1
