"""How often the noise gate is wrong, with runs whose truth is known: 100 cases × 3 samples, a level of 0.05.

Beside it, a gate that fails at a fixed threshold of 2 points, without a look at noise. Give a number of gates per
setting as an argument for a quicker, rougher answer.
"""

from __future__ import annotations

import sys
from pathlib import Path

import measure

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

_GATES = 2_000
_FALSE_ALARMS = 0.06
_POWER = 0.8
_DROP = 0.1
"""Of the scale: ten points."""


def results(gates: int) -> list[measure.Result]:
    """False alarms and false passes in every setting, and power where the design is the usual one."""
    from gate_simulations import SAMPLES, SETTINGS, rates  # noqa: PLC0415 - found through the path above

    from prompt_evaluator.model.gate import default_margin  # noqa: PLC0415

    found = []
    for setting in SETTINGS:
        same = rates(setting, gates)
        detail = f"{same.fail:.4f}; a fixed threshold: {same.fixed_threshold:.3f}; passes: {same.passed:.3f}"
        found.append(
            measure.Result(f"{setting.name}: false alarms", same.fail, _FALSE_ALARMS, at_most=True, detail=detail)
        )
        margin = default_margin(setting.scale) / (setting.scale[1] - setting.scale[0])
        at_margin = rates(setting, gates, margin, seed=1)
        detail = f"{at_margin.passed:.4f} with a drop of just the margin; fails: {at_margin.fail:.3f}"
        found.append(
            measure.Result(f"{setting.name}: false passes", at_margin.passed, 0.08, at_most=True, detail=detail)
        )
        if setting.samples == SAMPLES:
            worse = rates(setting, gates, _DROP, seed=2)
            detail = f"{worse.fail:.4f}; a fixed threshold: {worse.fixed_threshold:.3f}"
            found.append(measure.Result(f"{setting.name}: power", worse.fail, _POWER, at_most=False, detail=detail))
    return found


if __name__ == "__main__":
    measure.conclude(*results(int(sys.argv[1]) if len(sys.argv) > 1 else _GATES))
