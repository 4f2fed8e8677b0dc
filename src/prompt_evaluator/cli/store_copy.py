"""`prompt-evaluator store copy`."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.store_copy import copy_runs
from prompt_evaluator.app.stores import named_store
from prompt_evaluator.cli.output import print_json, print_lines
from prompt_evaluator.cli.progress_line import ProgressLine
from prompt_evaluator.cli.settings_options import config_option
from prompt_evaluator.cli.text import clean
from prompt_evaluator.model.several import SEVERAL, split_words
from prompt_evaluator.model.wording import listed, many

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.model.upkeep import CopyReport

_LEFT_OUT = 1


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--run", "runs", multiple=True, metavar="RUN", help=f"Copy only these runs. {SEVERAL}")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@config_option
def copy_command(source: str, target: str, *, runs: tuple[str, ...], as_json: bool, config_path: Path | None) -> None:
    """Copy all runs, or some, from the store FROM to the store TO: files, or postgresql:// addresses.

    Everything that belongs to a run comes along: cases, answers, judgements, results, labels and their queues,
    verdicts, tags, notes and baselines; and named views, if all runs are copied. Tokens and queued requests stay where
    they are. FROM is not changed; TO is created if need be. Runs that TO has already are left alone, so an interrupted
    copy can be repeated. Runs in progress are left out. Exits 1 if a run was left out.
    """
    settings = read_settings(config_path)
    with ProgressLine() as progress:
        named = tuple(name for text in runs for name in split_words(text))
        report = copy_runs(named_store(settings, source), named_store(settings, target), named, say=progress.say)
    if as_json:
        print_json(report)
    else:
        print_lines(_lines(report))
    if not report.ok:
        sys.exit(_LEFT_OUT)


def _lines(report: CopyReport) -> Iterator[str]:
    count = Counter(run.outcome for run in report.runs)
    rows = sum(run.rows for run in report.runs)
    yield f"Copied {many(count['copied'], 'run')} with {many(rows, 'row')} to {clean(report.target)}."
    if already := count["already there"]:
        yield f"{many(already, 'run')} {'was' if already == 1 else 'were'} already there, and equal."
    yield from (clean(run.reason) for run in report.runs if run.reason)
    yield from map(clean, report.notes)
    yield f"Not copied, because they belong to one store: {listed(report.not_copied)}."
