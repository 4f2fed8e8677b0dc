"""Places of means that their intervals can or cannot tell apart."""

from __future__ import annotations

from prompt_evaluator.stats.ranking import interval_ranks


def test_means_that_their_intervals_cannot_tell_apart_share_a_rank() -> None:
    assert interval_ranks([(4.0, 5.0), (3.5, 4.5), (1.0, 2.0)]) == [1, 1, 3]


def test_a_chain_of_overlaps_does_not_tie_its_ends() -> None:
    assert interval_ranks([(4.0, 5.0), (3.0, 4.2), (2.0, 3.4)]) == [1, 1, 2]


def test_intervals_that_touch_overlap() -> None:
    assert interval_ranks([(4.0, 5.0), (3.0, 4.0)]) == [1, 1]


def test_without_an_interval_there_is_no_rank() -> None:
    assert interval_ranks([None, (3.0, 4.0), (1.0, 2.0)]) == [None, 1, 2]
    assert interval_ranks([]) == []
