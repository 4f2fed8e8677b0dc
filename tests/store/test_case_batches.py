"""Rows of finished cases wait until there are enough to write at once, and none gets lost or mixed up."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from case_results import JUDGES, case_result, sample, stats

from prompt_evaluator.store.case_batches import CaseBatch, CaseBatches
from prompt_evaluator.store.result_rows import FinishedCase
from prompt_evaluator.store.result_tables import RESULT_TABLES

if TYPE_CHECKING:
    from prompt_evaluator.model.result import CaseResult

RUN = "run-0001"
FIVE = case_result(samples=tuple(sample(number=number) for number in range(5)))


def finished(position: int, result: CaseResult = FIVE) -> FinishedCase:
    return FinishedCase(position, result, JUDGES)


def rows(batch: CaseBatch) -> dict[str, list[tuple[object, ...]]]:
    return {
        table.name: [tuple(values[start : start + len(table.c)]) for start in range(0, len(values), len(table.c))]
        for table, values in zip(RESULT_TABLES, batch.rows.values, strict=True)
    }


def test_cases_are_due_once_they_have_enough_samples_and_make_full_statements() -> None:
    batches = CaseBatches(hold=3_600)
    looks = [batches.put(RUN, finished(at)) for at in range(127)]
    assert batches.take(everything=False) == []

    assert batches.put(RUN, finished(127))
    (batch,) = batches.take(everything=False)

    assert looks == [True] + [False] * 126
    assert batch.rows.positions == {*range(128)}
    assert batch.weight == 640
    assert batches.is_empty
    assert {name: len(found) for name, found in rows(batch).items()} == {
        "case_results": 128,
        "case_metrics": 256,
        "case_flags": 128,
        "sample_results": 640,
    }


def test_a_few_cases_are_due_after_a_while_or_on_request() -> None:
    patient, hasty = CaseBatches(hold=3_600), CaseBatches(hold=0)
    for batches in (patient, hasty):
        assert batches.seconds_left() is None
        batches.put(RUN, finished(0))

    assert 0 < (patient.seconds_left() or 0) <= 3_600
    assert hasty.seconds_left() == 0
    assert patient.take(everything=False) == []
    assert [batch.rows.positions for batch in hasty.take(everything=False)] == [{0}]
    assert [batch.rows.positions for batch in patient.take(everything=True)] == [{0}]


def test_a_case_that_is_done_again_is_in_a_later_batch() -> None:
    batches = CaseBatches()
    for position in (0, 1, 0):
        batches.put(RUN, finished(position))

    assert [batch.rows.positions for batch in batches.take(everything=True)] == [{0, 1}, {0}]


def test_a_case_without_rows_leaves_those_of_others_as_they_are() -> None:
    batches = CaseBatches()
    batches.put(RUN, finished(0))
    broken = case_result("case-1", per_metric_stats={None: stats(1.0, 2.0)})

    with pytest.raises(AttributeError):
        batches.put(RUN, finished(1, broken))
    batches.put(RUN, finished(2))

    (batch,) = batches.take(everything=True)
    assert batch.rows.positions == {0, 2}
    assert {(name, row[1]) for name, found in rows(batch).items() for row in found} == {
        (name, position) for name in rows(batch) for position in (0, 2)
    }


def test_what_one_thread_puts_another_one_takes_once_and_whole() -> None:
    batches = CaseBatches(hold=0)
    taken: list[CaseBatch] = []
    over = threading.Event()

    def take() -> None:
        while not over.is_set():
            taken.extend(batches.take(everything=False))

    taker = threading.Thread(target=take)
    taker.start()
    for at in range(2_000):
        batches.put(RUN, finished(at))
    over.set()
    taker.join()
    taken += batches.take(everything=True)

    assert sorted(position for batch in taken for position in batch.rows.positions) == [*range(2_000)]
    assert all(len(rows(batch)["sample_results"]) == batch.weight for batch in taken)
