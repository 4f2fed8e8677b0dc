"""The verdict of the harness's gate for other programs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.github import GateTexts, tell_of_gate
from prompt_evaluator.reports.gate import gate_findings
from prompt_evaluator.reports.harness_gate import TITLES, heading, moved_rows, unmoved
from prompt_evaluator.reports.harness_gate_markdown import harness_gate_comment, harness_gate_markdown
from prompt_evaluator.reports.junit_harness_gate import write_gate
from prompt_evaluator.reports.next_step import PROGRAM, Reader
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model.gate_findings import GateFindings
    from prompt_evaluator.model.harness_gate import GateOutcome
    from prompt_evaluator.reports.github import Kind

__all__ = ["TITLES", "gate_document", "gate_junit", "heading", "moved_rows", "noise_findings", "tell_github", "unmoved"]

_KINDS: dict[int, Kind] = {0: "notice", 4: "warning"}
_DECIDING = ("verdict", "exit_code", "metrics", "guardrails", "reasons")


def noise_findings(outcome: GateOutcome) -> dict[str, GateFindings]:
    """What to say about each configuration by the policy `noise`; empty by the other.

    There are no next steps: they are for runs in the store.
    """
    names = outcome.baseline_run_id or "", outcome.run_id or ""
    found = {name: gate_findings(each, names, Reader(Path.cwd(), PROGRAM)) for name, each in outcome.noise.items()}
    return {name: msgspec.structs.replace(each, next_steps=()) for name, each in found.items()}


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


def tell_github(outcome: GateOutcome, comment: Path, environment: Mapping[str, str]) -> list[str]:
    """Write the comment, and on GitHub the summary of the step; return lines for the log.

    Raises:
        ConfigurationError: A file cannot be written.
    """
    noise = noise_findings(outcome)
    texts = GateTexts(
        comment=harness_gate_comment(outcome, noise, now(), __version__),
        summary=harness_gate_markdown(outcome, noise),
        kind=_KINDS.get(outcome.exit_code, "error"),
        annotation=" ".join((TITLES[outcome.verdict], *(f"{each.removesuffix('.')}." for each in outcome.reasons))),
    )
    return tell_of_gate(texts, comment, environment)
