"""The verdict of the harness's gate for other programs."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.github import GateTexts, tell_of_gate
from prompt_evaluator.reports.harness_gate import TITLES, heading, moved_rows, unmoved
from prompt_evaluator.reports.harness_gate_markdown import harness_gate_comment, harness_gate_markdown
from prompt_evaluator.reports.junit_harness_gate import write_gate
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prompt_evaluator.model.harness_gate import GateOutcome

__all__ = ["TITLES", "gate_document", "gate_junit", "heading", "moved_rows", "tell_github", "unmoved"]


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


def tell_github(outcome: GateOutcome, comment: Path, environment: Mapping[str, str]) -> list[str]:
    """Write the comment, and on GitHub the summary of the step; return lines for the log.

    Raises:
        ConfigurationError: A file cannot be written.
    """
    texts = GateTexts(
        comment=harness_gate_comment(outcome, now(), __version__),
        summary=harness_gate_markdown(outcome),
        kind="notice" if outcome.exit_code == 0 else "error",
        annotation=" ".join((TITLES[outcome.verdict], *(f"{each.removesuffix('.')}." for each in outcome.reasons))),
    )
    return tell_of_gate(texts, comment, environment)
