"""What files of test results ask of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from case_results import JUDGES, case_result, failed_sample, run_result, sample, stats

from prompt_evaluator.model import TestCase
from prompt_evaluator.model.result import CriterionScore
from prompt_evaluator.model.worst_sample import WorstSample

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


def test_the_worst_sample_is_the_one_that_misses_most_with_its_reasons(filled: Store) -> None:
    found = filled.worst_samples(RUN, [0, 1, 2, 3, 4], most_text=1_000)

    assert found == {
        1: WorstSample(0, "Answer 0 to case-1", {"clarity": 1.0}, {"clarity": "1.0 points"}),
        2: WorstSample(1, "Answer 1 to case-2", {"clarity": 2.0}, {"clarity": "2.0 points"}),
    }


def test_only_the_beginning_of_long_texts_is_read(filled: Store) -> None:
    (worst,) = filled.worst_samples(RUN, [1], most_text=4).values()

    assert (worst.answer, worst.reasons) == ("Answ", {"clarity": "1.0 "})


def test_a_run_is_known_by_its_whole_id_only(filled: Store) -> None:
    assert [filled.has_run(name) for name in (RUN, RUN[:5], "@last")] == [True, False, False]
