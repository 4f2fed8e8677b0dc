"""Findings of runs that never were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from summaries import outcome, plan

from prompt_evaluator.app.findings import findings
from prompt_evaluator.model.findings import Findings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.result import OverallFlag, OverallMetric


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., Findings]:
    """Findings from a plan's changes and a result; each of them is written as JSON and read back on the way."""

    def make(
        metrics: dict[str, OverallMetric] | None = None,
        flags: dict[str, OverallFlag] | None = None,
        *,
        change: Callable[[RunPlan], RunPlan] = lambda plan: plan,
        **changes: Any,
    ) -> Findings:
        made = findings(outcome(change(plan(tmp_path)), metrics or {}, flags, **changes), seen_from=tmp_path)
        assert msgspec.json.decode(msgspec.json.encode(made), type=Findings) == made
        return made

    return make
