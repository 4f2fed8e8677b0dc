"""Tells GitHub about a run or a comparison: summary of the step, annotations, and the comment on a pull request."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.report_files import written_file
from prompt_evaluator.app.report_writing import collect_report
from prompt_evaluator.app.run_names import open_compared
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError, IncomparableError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.report import CompareReport, RefusedReport, RunReport
from prompt_evaluator.reports.github import (
    Place,
    annotation_lines,
    command_line,
    noted_cases,
)
from prompt_evaluator.reports.pr_comment import brief, pr_comment
from prompt_evaluator.reports.safe_text import log_line, markdown_text
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prompt_evaluator.app.report_writing import ReportRequest
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.reports.github import Kind

SUMMARY, WORKSPACE, ON_GITHUB = "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GITHUB_ACTIONS"


class ToldGitHub(NamedTuple):
    """What GitHub was told."""

    report: RunReport | CompareReport | None
    lines: list[str]
    """To be printed as they are: some are commands to GitHub, the others are harmless."""
    refused: IncomparableError | None
    """Why the runs were not compared; harmless in a log, too."""


def tell_github(
    settings: Settings, request: ReportRequest, comment: Path, environment: Mapping[str, str]
) -> ToldGitHub:
    """Write the comment, and on GitHub the summary of the step; say it all again in lines for the log.

    Args:
        settings: Where runs are stored.
        request: Which runs, and how.
        comment: The file to write the comment to.
        environment: The process's own, as GitHub sets it.

    Raises:
        ConfigurationError: There is no such run, or a file cannot be written.
        InputError: The file of a run cannot be used.
    """
    refused = None
    report: RunReport | CompareReport | None = None
    try:
        report = collect_report(settings, request)
    except IncomparableError as error:
        refused = IncomparableError(log_line(str(error)))
    told = report or _refusal(settings, request, str(refused))
    name = request.options.title
    text = _here(pr_comment(told, name=name, link=_job(environment)), request.runs)
    lines = _written(text, _here(brief(told, name), request.runs), comment, environment)
    if environment.get(ON_GITHUB):
        lines += annotation_lines(told, _places(settings, told, environment.get(WORKSPACE)))
    else:
        lines.append(f"This is not GitHub ({ON_GITHUB} is not set), so cases are not annotated.")
    return ToldGitHub(report, [_encoded(line).decode() for line in lines], refused)


class GateTexts(NamedTuple):
    """A verdict of the gate, as GitHub shows it."""

    comment: str
    summary: str
    kind: Kind
    """Of the annotation."""
    annotation: str


def tell_of_gate(texts: GateTexts, comment: Path, environment: Mapping[str, str]) -> list[str]:
    """Write the comment, and on GitHub the summary of the step; return lines for the log.

    Raises:
        ConfigurationError: A file cannot be written.
    """
    lines = _written(texts.comment, texts.summary, comment, environment)
    if environment.get(ON_GITHUB):
        lines.append(command_line(texts.kind, texts.annotation, title="Release gate"))
    return lines


def _written(text: str, summary: str, comment: Path, environment: Mapping[str, str]) -> list[str]:
    """Write the comment, and add to the summary of the step; return what to say about that."""
    with written_file(comment) as file:
        file.write(_encoded(text))
    path = environment.get(SUMMARY)
    if not path:
        return [log_line(f"Wrote {comment}."), f"{SUMMARY} is not set, so there is no summary of the step."]
    try:
        with Path(path).open("ab") as file:
            file.write(_encoded(f"{summary}\n\n"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{path}: the summary cannot be written: {reason}. Check {SUMMARY}.") from None
    return [log_line(f"Wrote {comment}."), "Wrote the summary of this step."]


def _job(environment: Mapping[str, str]) -> str | None:
    """The page of this job, which has its artifacts."""
    server, repository, run = (environment.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else None


def _here(text: str, runs: Sequence[str]) -> str:
    """The text with paths below the working directory, and with names of files instead of paths elsewhere.

    Nobody who reads a comment has the folders of the machine that made it.
    """
    folders = [f"{Path.cwd()}/", *(f"{path.parent}/" for path in map(Path, runs) if path.is_absolute())]
    for folder in folders:
        for written in (markdown_text(f".{folder}")[1:], markdown_text(folder)):  # a slash is escaped at the start
            text = text.replace(written, "")
    return text


def _refusal(settings: Settings, request: ReportRequest, reason: str) -> RefusedReport:
    with open_compared(settings, request.runs) as runs:
        facts = runs[-1].facts
    return RefusedReport(dataset_name=facts.dataset_name, reason=reason, made_at=now(), version=__version__)


def _places(
    settings: Settings, told: RunReport | CompareReport | RefusedReport, workspace: str | None
) -> dict[str, Place]:
    root = Path(workspace or ".").resolve()
    found: dict[str, Place] = {}
    for case_id, file, line in _lines(settings, told):
        path = Path(file).resolve()
        if path.is_relative_to(root):  # GitHub knows no other files
            found[case_id] = Place(path.relative_to(root).as_posix(), line)
    return found


def _lines(
    settings: Settings, told: RunReport | CompareReport | RefusedReport
) -> Iterator[tuple[str, str, int | None]]:
    """Where annotated cases are written."""
    if isinstance(told, RunReport):
        yield from ((each.test_case_id, each.file, each.line) for each in told.worst if each.file)
        return
    wanted = noted_cases(told)
    run = told.candidate.facts if isinstance(told, CompareReport) else None
    if not wanted or run is None or run.run_id is None or run.path is not None:
        return
    with closing(open_store(settings)) as store:
        for case_id in wanted:
            line = store.case_detail(run.run_id, case_id).case
            if line.file:
                yield case_id, line.file, line.line


def _encoded(text: str) -> bytes:
    return REDACTOR.text(text).encode("utf-8", "replace")
