"""Verdicts of the gate in words, and as files for CI services, for front ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.github import ON_GITHUB, SUMMARY, append_summary
from prompt_evaluator.app.report_writing import written_file
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.gate import PASSED, UNDECIDED
from prompt_evaluator.reports.gate import gate_findings
from prompt_evaluator.reports.gate_markdown import gate_comment, gate_markdown
from prompt_evaluator.reports.github import command_line as github_command
from prompt_evaluator.reports.junit import write_junit
from prompt_evaluator.reports.junit_gate import gate_results, gate_suite
from prompt_evaluator.reports.next_step import PROGRAM, Reader
from prompt_evaluator.reports.safe_text import log_line
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.app.gate import Gated
    from prompt_evaluator.model.gate_findings import GateFindings
    from prompt_evaluator.reports.github import Kind

_KINDS: dict[int, Kind] = {PASSED: "notice", UNDECIDED: "warning"}
"""Of annotations, by exit code."""


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
    with written_file(comment) as file:
        text = gate_comment(found, gated.candidate.dataset_name, now(), __version__)
        file.write(REDACTOR.bytes(text.encode("utf-8", "replace")))
    return [log_line(f"Wrote {comment}."), *_summarised(found, environment), *_annotated(gated, found, environment)]


def _summarised(found: GateFindings, environment: Mapping[str, str]) -> Iterator[str]:
    summary = environment.get(SUMMARY)
    if not summary:
        yield f"{SUMMARY} is not set, so there is no summary of the step."
        return
    text = f"{gate_markdown(found)}\n\n"
    append_summary(Path(summary), lambda room: text if len(text.encode()) <= room else "")
    yield "Wrote the summary of this step."


def _annotated(gated: Gated, found: GateFindings, environment: Mapping[str, str]) -> Iterator[str]:
    if environment.get(ON_GITHUB):
        kind = _KINDS.get(gated.result.exit_code, "error")
        yield github_command(kind, " ".join((found.headline, *found.reasons)), title="Release gate")
