"""The verdict of the harness's gate for other programs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.reports.gate import gate_findings
from prompt_evaluator.reports.junit_harness_gate import write_gate
from prompt_evaluator.reports.next_step import PROGRAM, Reader

if TYPE_CHECKING:
    from prompt_evaluator.model.gate_findings import GateFindings
    from prompt_evaluator.model.harness_gate import GateOutcome

_DECIDING = ("verdict", "exit_code", "metrics", "guardrails", "reasons")


def noise_findings(outcome: GateOutcome) -> dict[str, GateFindings]:
    """What to say about each configuration by the policy `noise`; empty by the other."""
    names = outcome.baseline_run_id or "", outcome.run_id or ""
    return {name: gate_findings(each, names, Reader(Path.cwd(), PROGRAM)) for name, each in outcome.noise.items()}


def gate_document(outcome: GateOutcome) -> dict[str, Any]:
    """The verdict as `--json` prints it: metrics by configuration, difference = candidate - baseline."""
    found: dict[str, Any] = msgspec.to_builtins(outcome)
    configurations: dict[str, dict[str, Any]] = {}
    for each in found.pop("movements"):
        metrics = configurations.setdefault(each.pop("config_id"), {})
        name, exceeded = each.pop("metric"), each.pop("exceeded")
        metrics[name] = {**each, "verdict": "fail" if exceeded else "pass"}
    for name, each in found.pop("noise").items():
        configurations[name] = {key: each[key] for key in _DECIDING}
    return {**found, "configurations": configurations}


def gate_junit(outcome: GateOutcome) -> bytes:
    """The verdict as JUnit XML."""
    file = BytesIO()
    write_gate(file, outcome)
    return file.getvalue()
