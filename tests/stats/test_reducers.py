from __future__ import annotations

from itertools import combinations

import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.stats.reducers import (
    Samples,
    best_of,
    k_of_n,
    majority,
    mean,
    pass_at_k,
    pass_hat_k,
    reducer,
)

COUNTS = [(n, c, k) for n in range(1, 9) for c in range(n + 1) for k in range(1, n + 1)]


@each(("n", "c", "k"), COUNTS)
def test_pass_at_k_and_pass_hat_k_are_shares_of_all_choices_of_k_samples(n: int, c: int, k: int) -> None:
    choices = list(combinations([True] * c + [False] * (n - c), k))

    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_large_counts_are_no_trouble() -> None:
    assert pass_at_k(10_000, 1, 100) == pytest.approx(0.01)
    assert pass_hat_k(10_000, 9_999, 100) == pytest.approx(0.99)


@each(("n", "c", "k"), [(3, 1, 4), (3, 4, 1), (3, -1, 1), (3, 1, 0), (0, 0, 1)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="is not possible"):
        pass_at_k(n, c, k)
    with pytest.raises(ValueError, match="is not possible"):
        pass_hat_k(n, c, k)


@each(
    ("passed", "expected"),
    [
        ([True], True),
        ([False], False),
        ([True, False], False),
        ([True, True, False], True),
        ([True, False, False], False),
    ],
)
def test_a_majority_is_more_than_half(passed: list[bool], expected: bool) -> None:  # noqa: FBT001
    assert majority(passed) is expected


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(1, 9))
def test_k_of_n_holds_when_some_choice_of_k_samples_all_pass(passed: list[bool], k: int) -> None:
    if k > len(passed):
        with pytest.raises(ValueError, match="is not possible"):
            k_of_n(passed, k)
        return

    assert k_of_n(passed, k) == any(map(all, combinations(passed, k)))


SAMPLES = Samples([0.2, 1.0, 0.9, 1.0], [False, True, False, True])


@each(
    ("name", "expected"),
    [
        ("mean", 0.775),
        ("best-of", 1.0),
        ("majority", 0.0),
        ("pass@1", 0.5),
        ("pass@2", 5 / 6),
        ("pass^2", 1 / 6),
        ("2-of-4", 1.0),
        ("1-of-3", 1.0),
        ("2-of-3", 0.0),
    ],
)
def test_a_reducer_is_found_by_its_name(name: str, expected: float) -> None:
    assert reducer(name)(SAMPLES) == pytest.approx(expected)


@each("name", ["median", "pass@", "pass@k", "3-of-2", "0-of-2", "pass@3 "])
def test_an_unknown_reducer_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"^Unknown reducer|is not a reducer"):
        reducer(name)


@pytest.mark.parametrize("name", ["pass@5", "pass^5", "1-of-5"])
def test_too_few_samples_are_an_error_not_a_number(name: str) -> None:
    with pytest.raises(ValueError, match="samples"):
        reducer(name)(SAMPLES)


def test_nothing_is_an_error_not_0() -> None:
    for reduce in (mean, best_of):
        with pytest.raises(ValueError, match="no score"):
            reduce([])
    with pytest.raises(ValueError, match="no sample"):
        majority([])
