"""How long a call waits before its next try."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from prompt_evaluator.calls.retry import wait_before_retry


@pytest.mark.parametrize("asked", [0.2, 1.0, 60.0])
def test_the_wait_is_never_shorter_than_asked_and_hardly_longer(asked: float) -> None:
    waits = [wait_before_retry(1, asked, 0.5, Random(seed)) for seed in range(200)]

    assert min(waits) >= asked
    assert max(waits) <= asked + 1
    assert len(set(waits)) > 100


@pytest.mark.parametrize("asked", [None, 0.0])
def test_without_a_wait_in_retry_after_waits_double_up_to_a_limit(asked: float | None) -> None:
    waits = [wait_before_retry(tries, asked, 0.5, Random(1)) for tries in range(1, 12)]

    assert 0.5 <= waits[0] <= 0.75
    assert all(later >= earlier for earlier, later in pairwise(waits))
    assert waits[-1] <= 45
