"""All cases of a run that match a query: those that its columns name are those that its rows name."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from case_results import JUDGES, case_result, failed_sample, flag, run_result, sample, stats

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import TestCase
from prompt_evaluator.model.case_columns import CASES_AT_ONCE, DONE, FAILING, FLAGGED, FLAKY, HAS_ERRORS, HAS_RESULT
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.query import CaseQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.case_columns import CaseKinds
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store import Store

    MakeRecord = Callable[..., RunRecord]

RUN = "run-0001"
SIZE = CASES_AT_ONCE + 60
STARTED = sorted({*range(90), *range(CASES_AT_ONCE - 40, SIZE - 20)})
CONDITIONS: list[dict[str, Any]] = [
    {"flaky": True},
    {"flaky": False},
    {"flagged": True},
    {"flagged": False},
    {"failing": True},
    {"failing": False},
    {"errors": True},
    {"errors": False},
    {"status": "pending"},
    {"status": "completed"},
    {"error_kind": "TimedOutError"},
    {"text": "Answer 1"},
    {"flags": ("rude",)},
    {"flags": ("rude", "leaks")},
    {"metrics": (condition("clarity<4"),)},
    {"metrics": (condition("clarity>=3"), condition("length!=0.5"))},
    {"metrics": (condition("length=0"),)},
    {"metadata": (condition("topic=tea"),)},
    {"metadata": (condition("topic!=tea"), condition("level>1"))},
    {"positions": frozenset({3, 4, 88, CASES_AT_ONCE - 1, CASES_AT_ONCE, SIZE - 1, SIZE + 7})},
    {"positions": frozenset()},
]
SORTS = ("position", "clarity", "length", "metric.cost", "cost", "latency", "flakiness")


class Answers(NamedTuple):
    """Everything that can be asked about all cases."""

    found: list[tuple[list[int], bytes]]
    orders: list[list[int]]
    flags: list[list[tuple[str, int]]]
    kinds: list[CaseKinds]


@pytest.fixture
def run(store: Store, record: MakeRecord) -> Store:
    """A run that has not ended."""
    random = Random(11)
    store.create_run(record(), [TestCase(id=f"c{at}", input="x", metadata=_metadata(random)) for at in range(SIZE)])
    writer = store.writer(RUN)
    for at in STARTED:
        writer.put_case(at, _result(f"c{at}", random), JUDGES)
    writer.close()
    return store


def _metadata(random: Random) -> dict[str, Any]:
    return random.choice([{}, {"topic": "tea"}, {"topic": "cake", "level": 2}, {"level": 1}, {"topic": ["tea"]}])


def _result(case_id: str, random: Random) -> CaseResult:
    """Scores of few values, so that there are many ties; some cases have none, or none on one metric, or errors."""
    number = random.randint(1, 3)
    clarity = [random.choice([2.0, 4.0, 5.0]) for _ in range(number)]
    length = random.choice([None, 0.0, -0.0, 0.5])
    measured = {"clarity": stats(*clarity)} | ({} if length is None else {"length": stats(length)})
    given: dict[str, Any] = {"status": random.choice(["completed", "completed", "pending"])}
    if random.random() < 0.2:
        given, measured = {"status": "failed", "missing_scores": {"clarity": number}}, {}
    elif random.random() < 0.3:
        measured["cost"] = stats(random.choice([1.0, 2.0]))
    answers = [sample(case_id, at, latency_ms=random.choice([None, 5.0, 7.0])) for at in range(number)]
    if given["status"] == "failed" or random.random() < 0.1:
        answers[-1] = failed_sample(case_id, number - 1)
    raised = {name: flag(random.choice([0, 0, 1, 2])) for name in ("rude", "leaks") if random.random() < 0.6}
    return case_result(case_id, samples=tuple(answers), per_metric_stats=measured, per_flag_stats=raised, **given)


def _queries() -> list[CaseQuery]:
    random = Random(3)
    both = [{**random.choice(CONDITIONS), **random.choice(CONDITIONS)} for _ in range(30)]
    return [CaseQuery(run_id=RUN, **asked) for asked in ({}, *CONDITIONS, *both)]


def _answers(store: Store) -> Answers:
    found = [store.case_states(query) for query in _queries()]
    orders = [
        [*store.case_order(CaseQuery(run_id=RUN, sort=sort, descending=descending, **asked))]
        for sort in SORTS
        for descending in (False, True)
        for asked in ({}, {"failing": False}, {"metrics": (condition("clarity>=3"),)})
    ]
    return Answers(
        [([*each.positions], each.states) for each in found],
        orders,
        [[*store.count_flags(RUN, each.positions).items()] for each in found],
        [*store.case_kinds(RUN)],
    )


def _end(store: Store) -> None:
    store.update_run(RUN, status="completed", ended_at="2025-01-01T01:00:00Z", summary=run_result(RUN))


def test_columns_and_rows_name_the_same_cases_in_the_same_order(run: Store) -> None:
    by_rows = _answers(run)
    _end(run)

    by_columns = _answers(run)

    assert by_columns == by_rows
    assert by_columns.found[0][0] == [*range(SIZE)]
    states = by_columns.found[0][1]
    for bit in (HAS_RESULT, DONE, FAILING, FLAGGED, FLAKY, HAS_ERRORS):
        assert 0 < sum(bool(state & bit) for state in states) < len(STARTED) + (bit == HAS_RESULT)
    assert len({tuple(order) for order in by_columns.orders}) > 2 * len(SORTS)


def test_a_query_that_rows_refuse_is_refused_with_columns_as_well(run: Store) -> None:
    _end(run)

    with pytest.raises(UnknownNameError):
        run.case_order(CaseQuery(run_id=RUN, sort="clarit"))
    for text in ("clarity~4", "clarity<much"):
        with pytest.raises(ConfigurationError):
            run.case_states(CaseQuery(run_id=RUN, metrics=(condition(text),)))
    with pytest.raises(UnknownNameError):
        run.case_states(CaseQuery(run_id=RUN, flags=("unheard of",)))
