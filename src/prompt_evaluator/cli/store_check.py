"""`prompt-evaluator store check`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.settings import masked, read_settings
from prompt_evaluator.app.store_check import check_store
from prompt_evaluator.cli.output import print_json, print_lines
from prompt_evaluator.cli.progress_line import ProgressLine
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import clean
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.model.upkeep import StoreReport

_PROBLEMS = 1
_COLOURS = {"problem": "red", "note": "yellow"}


@click.command("check")
@click.option("--deep", is_flag=True, help="Also compute all results again, and compare them with the stored ones.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@settings_options
def check_command(*, deep: bool, as_json: bool, config_path: Path | None) -> None:
    """Look for problems in a store, and say what to do about each.

    Checks that it can be opened, its schema revision, damage to its file, rows that belong to nothing, interrupted
    runs, and that each run has the results of its answers and judgements: their number, or everything with --deep.
    Changes nothing. Exits 1 if there is a problem.
    """
    location = read_settings(config_path).store
    with ProgressLine() as progress:
        report = check_store(location, masked(location), deep=deep, say=progress.say)
    if as_json:
        print_json(report)
    else:
        print_lines(_lines(report))
    if not report.ok:
        sys.exit(_PROBLEMS)


def _lines(report: StoreReport) -> Iterator[str]:
    if report.revision is not None:
        checked = f", {many(report.runs, 'run')} checked{' in depth' if report.deep else ''}"
        yield f"{clean(report.store)}: schema revision {report.revision}{checked}."
    for finding in report.findings:
        yield f"{click.style(finding.level.ljust(9), fg=_COLOURS[finding.level])}{clean(finding.text)}"
        if finding.advice:
            yield f"{'':9}{clean(finding.advice)}"
    problems = sum(finding.level == "problem" for finding in report.findings)
    yield f"{many(problems, 'problem')} found." if problems else "No problems found."
