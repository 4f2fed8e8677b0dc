"""The gate on runs whose truth is known."""

from __future__ import annotations

import math

import pytest
from gate_simulations import LIKERT, NEARLY_ALL, PASS_FAIL, SETTINGS, SKEWED, Setting, rates

GATES = 2_000
FALSE_ALARMS = 0.05 + 3 * math.sqrt(0.05 * 0.95 / GATES)
"""The level, and three standard errors."""


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_false_alarms_are_rare(setting: Setting) -> None:
    assert rates(setting, GATES).fail <= FALSE_ALARMS


@pytest.mark.parametrize("setting", [PASS_FAIL, NEARLY_ALL, LIKERT, SKEWED], ids=lambda setting: setting.name)
def test_a_drop_of_ten_points_fails_four_times_in_five(setting: Setting) -> None:
    assert rates(setting, 500, 0.1).fail >= 0.8


def test_a_fixed_threshold_raises_far_more_false_alarms() -> None:
    found = rates(PASS_FAIL, 100)

    assert found.fixed_threshold > found.fail + 0.1
