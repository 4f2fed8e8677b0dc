"""`prompt-evaluator report`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.report import ReportOptions
from prompt_evaluator.app.report_writing import ENDINGS, ReportRequest, report_files, write_reports
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.compare_options import compare_options, comparing
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import clean
from prompt_evaluator.model.several import REPEATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.report_writing import ReportFile
    from prompt_evaluator.model.report import CompareReport, RunReport

DEFAULT = Path("report.html")
COMMENT = Path("pr-comment.md")
_MOST_RUNS = 2
_KIB = 1024


@click.command("report")
@click.argument("runs", nargs=-1, metavar="RUN [B]")
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"A file to write: {', '.join(ENDINGS)}. {REPEATED}  [default: {DEFAULT}]",
)
@click.option("--title", metavar="TEXT", help="The report's title.  [default: what was run]")
@click.option("--no-charts", is_flag=True, help="Leave out the charts, which make an HTML file larger.")
@click.option(
    "--github",
    is_flag=True,
    help="In GitHub Actions: write the summary of the step, annotate cases at their lines, and write a comment for "
    "the pull request. No report.html then, unless -o names it.",
)
@click.option(
    "--pr-comment",
    "comment",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Where --github writes the comment.  [default: {COMMENT}]",
)
@compare_options
@settings_options
def report_command(  # noqa: PLR0913 - one for each flag
    runs: tuple[str, ...],
    *,
    outputs: tuple[Path, ...],
    title: str | None,
    no_charts: bool,
    github: bool,
    comment: Path | None,
    config_path: Path | None,
    **options: Any,
) -> None:
    """Write a report on RUN, or on run B compared with RUN.

    The end of a file's name says which format to write. An HTML report is one file that can be sent to a colleague.
    Existing files are replaced. A run is an id or its beginning, @last, @last~1, a tag such as tag:branch=main, or a
    path to a dataset_evaluation.json.

    Exit codes: 0; 2 if a run or an option cannot be used; 3 if the runs cannot be compared.
    """
    if not 0 < len(runs) <= _MOST_RUNS:
        raise click.UsageError("Name one run, or two to compare, the baseline first: prompt-evaluator report A B.")
    if comment is not None and not github:
        raise click.UsageError("--pr-comment says where --github writes its comment: add --github.")
    files = report_files(outputs or (() if github else (DEFAULT,)))
    comment = comment or COMMENT
    if github and comment.resolve() in {file.path.resolve() for file in files}:
        raise click.UsageError(f"{comment} would be the comment and a report: give one of them another name.")
    how = ReportOptions(title=title, charts=not no_charts, program=program())
    request = ReportRequest(runs=runs, compare=comparing(options), options=how)
    report = _told(config_path, request, comment) if github else None
    write_reports(read_settings(config_path), request, files, report)
    _print_written(files)


def _told(config_path: Path | None, request: ReportRequest, comment: Path) -> RunReport | CompareReport | None:
    """Tell GitHub; the runs may then still turn out not to be comparable."""
    from prompt_evaluator.app.github import tell_github  # noqa: PLC0415 - only for GitHub

    told = tell_github(read_settings(config_path), request, comment, os.environ)
    print_lines(told.lines)
    if told.refused:
        raise told.refused
    return told.report


def _print_written(files: Sequence[ReportFile]) -> None:
    """Say which files were written, and how large they are."""
    print_lines(f"Wrote {clean(str(file.path))} ({size_in_words(file.path.stat().st_size)})." for file in files)


def size_in_words(size: int) -> str:
    """A number of bytes as people say it."""
    return f"{size / _KIB**2:,.1f} MB" if size >= _KIB**2 else f"{max(1, round(size / _KIB)):,} kB"
