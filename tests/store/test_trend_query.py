"""What trends ask of the store."""

from __future__ import annotations

from statistics import fmean, variance
from typing import TYPE_CHECKING

import pytest
from trend_runs import METRIC, add_run, run_id

from prompt_evaluator.model.condition import condition

if TYPE_CHECKING:
    from prompt_evaluator.store import Store

FIRST = [[3.0, 4.0, 5.0], [2.0, 2.0, 5.0], [4.0], []]
SECOND = [[4.0, 4.0, 5.0], [], [3.0], [1.0, 2.0]]
ALL = range(4)


def test_versions_of_datasets_and_judges_are_listed_the_newest_first(store: Store) -> None:
    add_run(store, 1, FIRST)
    add_run(store, 2, FIRST)
    add_run(store, 3, FIRST, dataset="d2" * 32)
    add_run(store, 4, FIRST, judge="openai/other")
    add_run(store, 5, FIRST, status="failed")

    found = store.run_versions((condition("status=completed"),))

    assert [(each.dataset_hash or "")[:2] for each in found] == ["d1", "d2", "d1"]
    assert [(each.judge_model, each.runs) for each in found] == [
        ("openai/other", 1),
        ("openai/judge", 1),
        ("openai/judge", 2),
    ]
    assert found[0].last == "2026-01-05T09:30:00.000Z"
    assert {each.dataset_name for each in found} == {"support"}


def test_the_noise_of_a_run_is_that_of_samples_within_their_cases(store: Store) -> None:
    add_run(store, 1, FIRST)
    add_run(store, 2, SECOND)

    noise = store.case_noise([run_id(1), run_id(2)], METRIC, ALL)[run_id(1)]

    parts = [variance(scores) / 3 for scores in FIRST[:2]]
    assert noise.cases == 3
    assert noise.squares == pytest.approx(sum(parts))
    assert noise.fourths == pytest.approx(sum(part**2 / 2 for part in parts))
    assert noise.inverse_counts == pytest.approx(1 / 3 + 1 / 3 + 1)
    assert noise.several_inverse_counts == pytest.approx(2 / 3)
    assert noise.spare == 4


def test_only_cases_at_the_given_positions_and_with_a_score_count(store: Store) -> None:
    add_run(store, 1, FIRST)

    assert store.case_noise([run_id(1)], METRIC, [2])[run_id(1)].cases == 1
    assert store.case_noise([run_id(1)], METRIC, [3]) == {}
    assert store.case_noise([run_id(1)], "other", ALL) == {}


def test_common_means_are_over_cases_that_every_run_has_scored(store: Store) -> None:
    add_run(store, 1, FIRST)
    add_run(store, 2, SECOND)

    cases, means = store.common_means([run_id(1), run_id(2)], METRIC)

    assert cases == 2
    assert means == pytest.approx({run_id(1): fmean([4.0, 4.0]), run_id(2): fmean([13 / 3, 3.0])})


def test_steps_compare_each_case_with_the_same_case_of_the_run_before(store: Store) -> None:
    add_run(store, 1, [[1.0], [2.0]])
    add_run(store, 2, [[3.0], [2.0]])
    add_run(store, 3, [[3.0], [2.5]])

    assert store.case_steps([run_id(1), run_id(2), run_id(3)], METRIC, ALL) == pytest.approx([2.0, 0.125])
    assert store.case_steps([run_id(3), run_id(1)], METRIC, ALL) == pytest.approx([2.125])
