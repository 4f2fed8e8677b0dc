"""All results of a run as flat rows, a part at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from case_results import JUDGES, case_result, failed_sample, run_result, sample, stats
from sqlalchemy import event

from prompt_evaluator.model import TestCase
from prompt_evaluator.model.flat_rows import CASE_COLUMNS, SAMPLE_COLUMNS, SCORE_COLUMNS, WorstSample
from prompt_evaluator.model.result import CriterionScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.store import Store

RUN = "run-0001"


def judged(case_id: str, at: int, clarity: float) -> Any:
    scores = {"clarity": CriterionScore(clarity, f"{clarity} points", passed=clarity >= 4)}
    return sample(case_id, at, judge_metrics=scores, scores={})


@pytest.fixture
def filled(store: Store, record: Callable[..., RunRecord]) -> Store:
    """Five cases of two samples: the last has no result, the one before it no answer."""
    cases = [TestCase(id=f"case-{at}", input=f"Why {at}?", file="/d.jsonl", line=at + 1) for at in range(5)]
    store.create_run(record(RUN, num_samples=2), cases)
    values = [(5.0, 4.0), (1.0, 5.0), (3.0, 2.0)]
    results = [
        case_result(
            f"case-{at}",
            samples=tuple(judged(f"case-{at}", number, value) for number, value in enumerate(given)),
            per_metric_stats={"clarity": stats(*given)},
        )
        for at, given in enumerate(values)
    ]
    broken = (failed_sample("case-3", 0), failed_sample("case-3", 1))
    results.append(case_result("case-3", samples=broken, per_metric_stats={}, missing_scores={"clarity": 2}))
    store.replace_results(RUN, enumerate(results), run_result, judges=JUDGES)
    return store


@pytest.mark.parametrize("at_once", [1, 2, 4, 6, 1_000])
def test_every_row_comes_once_and_in_order_whatever_the_size_of_a_part(filled: Store, at_once: int) -> None:
    batches = list(filled.flat_rows(RUN, samples_at_once=at_once))

    cases = [dict(zip(CASE_COLUMNS, row, strict=True)) for batch in batches for row in batch.cases]
    samples = [dict(zip(SAMPLE_COLUMNS, row, strict=True)) for batch in batches for row in batch.samples]
    scores = [dict(zip(SCORE_COLUMNS, row, strict=True)) for batch in batches for row in batch.scores]
    assert [(each["test_case_id"], each["input"], each["line"]) for each in cases] == [
        (f"case-{at}", f"Why {at}?", at + 1) for at in range(5)
    ]
    assert [(each["position"], each["sample"]) for each in samples] == [(at, n) for at in range(4) for n in range(2)]
    assert [each["score"] for each in scores] == [5.0, 4.0, 1.0, 5.0, 3.0, 2.0]
    assert [bool(each["passed"]) for each in scores] == [True, True, False, True, False, False]
    assert {each["judge"] for each in scores} == {JUDGES["clarity"]}
    assert {each["error_kind"] for each in samples[-2:]} == {"TimedOutError"}
    assert len(batches) == -(-5 // max(1, at_once // 2))


def test_a_part_holds_the_samples_and_scores_of_its_cases_only(filled: Store) -> None:
    for batch in filled.flat_rows(RUN, samples_at_once=4):
        positions = {row[0] for row in batch.cases}
        assert {row[0] for row in batch.samples} <= positions
        assert {row[0] for row in batch.scores} <= positions


def test_the_worst_sample_is_the_one_that_misses_most_with_its_reasons(filled: Store) -> None:
    found = filled.worst_samples(RUN, [0, 1, 2, 3, 4], most_text=1_000)

    assert found == {
        1: WorstSample(0, "Answer 0 to case-1", {"clarity": 1.0}, {"clarity": "1.0 points"}),
        2: WorstSample(1, "Answer 1 to case-2", {"clarity": 2.0}, {"clarity": "2.0 points"}),
    }


def test_only_the_beginning_of_long_texts_is_read(filled: Store) -> None:
    (worst,) = filled.worst_samples(RUN, [1], most_text=4).values()

    assert (worst.answer, worst.reasons) == ("Answ", {"clarity": "1.0 "})


def test_cases_are_found_in_their_files(filled: Store) -> None:
    assert filled.case_places(RUN, ["case-3", "nobody"]) == {"case-3": ("/d.jsonl", 4)}


def test_a_run_is_known_by_its_whole_id_only(filled: Store) -> None:
    assert [filled.has_run(name) for name in (RUN, RUN[:5], "@last")] == [True, False, False]


def test_a_part_takes_two_queries_and_no_unit_is_read(filled: Store) -> None:
    statements: list[str] = []

    @event.listens_for(filled._reading, "before_cursor_execute")  # noqa: SLF001 - what is sent to the database
    def note(*sent: Any) -> None:
        statements.append(sent[2])

    list(filled.flat_rows(RUN))

    queries = [statement for statement in statements if statement.startswith("SELECT")]
    assert len(queries) == 1 + 2 + 1  # how many samples, one part, and the end
    assert not any("units" in statement or "cases.data" in statement for statement in statements)
