"""Verdicts of the gate in words, and as files for CI services, for front ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.github import GateTexts, tell_of_gate
from prompt_evaluator.app.report_files import written_file
from prompt_evaluator.model.gate import FAILED
from prompt_evaluator.reports.gate import gate_findings
from prompt_evaluator.reports.gate_markdown import gate_comment, gate_markdown
from prompt_evaluator.reports.junit import write_junit
from prompt_evaluator.reports.junit_gate import gate_results, gate_suite
from prompt_evaluator.reports.next_step import PROGRAM, Reader
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.app.gate import Gated
    from prompt_evaluator.model.gate_findings import GateFindings
    from prompt_evaluator.model.release import VerdictKind
    from prompt_evaluator.reports.github import Kind

_KINDS: dict[VerdictKind | None, Kind] = {"pass": "notice", "inconclusive": "warning"}
"""Of annotations."""


def findings_of(gated: Gated, program: tuple[str, ...] = PROGRAM) -> GateFindings:
    """What to say about a verdict."""
    return gate_findings(gated.result, gated.names, Reader(Path.cwd(), program))


def write_gate_junit(gated: Gated, path: Path) -> None:
    """Write the verdict as JUnit XML.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    with written_file(path) as file:
        write_junit(file, gate_suite(gated.result, now()), gate_results(gated.result))


def tell_github(gated: Gated, comment: Path, environment: Mapping[str, str]) -> list[str]:
    """Write the comment, and on GitHub the summary of the step; return lines for the log.

    Raises:
        ConfigurationError: A file cannot be written.
    """
    found = findings_of(gated)
    texts = GateTexts(
        comment=gate_comment(found, gated.candidate.dataset_name, now(), __version__),
        summary=gate_markdown(found),
        kind="error" if gated.result.exit_code == FAILED else _KINDS.get(gated.result.verdict, "error"),
        annotation=" ".join((found.headline, *found.reasons)),
    )
    return tell_of_gate(texts, comment, environment)
