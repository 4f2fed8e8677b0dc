"""The gate on runs whose truth is known: a tenth of what `bench/bench_gate.py` does."""

from __future__ import annotations

import pytest
from gate_simulations import LIKERT, NEARLY_ALL, PASS_FAIL, SETTINGS, SKEWED, Setting, rates

GATES = 100


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_false_alarms_are_rare(setting: Setting) -> None:
    found = rates(setting, GATES)

    assert found.fail <= 0.11  # 0.05, and three standard errors of 100 gates


@pytest.mark.parametrize("setting", [PASS_FAIL, NEARLY_ALL, LIKERT, SKEWED], ids=lambda setting: setting.name)
def test_a_drop_of_ten_points_fails(setting: Setting) -> None:
    assert rates(setting, GATES // 2, 0.1).fail >= 0.75


def test_a_fixed_threshold_raises_far_more_false_alarms() -> None:
    found = rates(PASS_FAIL, GATES)

    assert found.fixed_threshold > found.fail + 0.1
