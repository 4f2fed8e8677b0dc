"""Wishes of a run, a dataset and a case become one list."""

from __future__ import annotations

import pytest

from prompt_evaluator.model import MetricUse, merged_uses

JSON = MetricUse(metric="is_json")
LENGTH = MetricUse(metric="length", options={"max_words": 50, "min_words": 3})


def test_uses_keep_the_order_in_which_they_first_appear() -> None:
    shorter = MetricUse(metric="length", options={"max_words": 5})

    assert [use.key for use in merged_uses((LENGTH,), (JSON, shorter))] == ["length", "is_json"]


def test_the_specific_ones_options_win_and_the_others_stay() -> None:
    (use,) = merged_uses((LENGTH,), (MetricUse(metric="length", options={"max_words": 5}),))

    assert use == MetricUse(metric="length", options={"max_words": 5, "min_words": 3})


def test_judge_and_negation_of_the_specific_one_win() -> None:
    general = MetricUse(metric="tone", name="kind", judge="a/b")
    specific = MetricUse(metric="tone", name="kind", judge="c/d", negated=True)

    assert merged_uses((general,), (specific,)) == (specific,)


def test_judge_and_negation_of_the_general_one_stay_where_nothing_else_is_said() -> None:
    general = MetricUse(metric="tone", judge="a/b", negated=True)

    assert merged_uses((general,), (MetricUse(metric="tone"),)) == (general,)


def test_uses_of_one_metric_with_different_names_are_different() -> None:
    named = MetricUse(metric="is_json", name="second")

    assert merged_uses((JSON,), (named,)) == (JSON, named)


def test_a_name_that_is_the_metrics_own_is_the_same_name() -> None:
    assert merged_uses((JSON,), (MetricUse(metric="is_json", name="is_json"),))[0].key == "is_json"
    assert len(merged_uses((JSON,), (MetricUse(metric="is_json", name="is_json"),))) == 1


def test_one_name_for_two_metrics_is_refused() -> None:
    with pytest.raises(ValueError, match="two metrics, 'is_json' and 'length', are called 'is_json': give one"):
        merged_uses((JSON,), (MetricUse(metric="length", name="is_json"),))


def test_nothing_is_changed_in_what_was_given() -> None:
    merged_uses((LENGTH,), (MetricUse(metric="length", options={"max_words": 5}),))

    assert LENGTH.options == {"max_words": 50, "min_words": 3}
