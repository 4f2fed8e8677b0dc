"""The verdict of the harness's gate for other programs."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.reports.junit_harness_gate import write_gate

if TYPE_CHECKING:
    from prompt_evaluator.model.harness_gate import GateOutcome


def gate_document(outcome: GateOutcome) -> dict[str, Any]:
    """The verdict as `--json` prints it: metrics by configuration, difference = candidate - baseline."""
    found: dict[str, Any] = msgspec.to_builtins(outcome)
    configurations: dict[str, dict[str, Any]] = {}
    for each in found.pop("movements"):
        metrics = configurations.setdefault(each.pop("config_id"), {})
        name, exceeded = each.pop("metric"), each.pop("exceeded")
        metrics[name] = {**each, "verdict": "fail" if exceeded else "pass"}
    return {**found, "configurations": configurations}


def gate_junit(outcome: GateOutcome) -> bytes:
    """The verdict as JUnit XML."""
    file = BytesIO()
    write_gate(file, outcome)
    return file.getvalue()
