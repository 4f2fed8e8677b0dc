"""`prompt-evaluator runs show`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.documents import run_document
from prompt_evaluator.app.row_documents import cases_document, whole_case_document
from prompt_evaluator.app.run_cases import CaseSelection, list_cases, show_case
from prompt_evaluator.app.run_queries import show_run
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.case_list import case_list
from prompt_evaluator.cli.case_view import case_page
from prompt_evaluator.cli.legend import legend
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.output import json_option, print_json, print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.summary import print_summary
from prompt_evaluator.cli.text import columns
from prompt_evaluator.model.bounds import LISTED

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = ("flaky", "errors", "flagged", "failing")
_SHOWN = 20


@click.command("show", epilog=legend())
@click.argument("run")
@click.option("--case", "case_id", metavar="ID", help="Show one case with its answers, scores, reasons and errors.")
@click.option("--worst", type=number_type(LISTED), metavar="N", help="Select the N cases with the lowest means.")
@click.option(
    "--failing", is_flag=True, help="Select cases in which fewer than half of the samples pass, for some metric."
)
@click.option(
    "--flaky", is_flag=True, help="Select cases in which only some samples pass, for some metric; flakiest first."
)
@click.option("--errors", is_flag=True, help="Select cases with errors.")
@click.option("--flagged", is_flag=True, help="Select cases with a raised flag.")
@click.option("--metric", metavar="NAME", help="With a selection: sort by this metric.  [default: the run's first]")
@click.option("--samples", is_flag=True, help="With a selection: show the answers too.")
@click.option(
    "--limit",
    type=number_type(LISTED),
    metavar="N",
    help=f"With a selection: show at most N cases.  [default: {_SHOWN}]",
)
@click.option("--cursor", metavar="NEXT", help="Continue a previous list: the value of `next` in its --json.")
@json_option
@settings_options
def show_command(run: str, *, case_id: str | None, as_json: bool, config_path: Path | None, **options: Any) -> None:
    """Show the summary of RUN (an id, its beginning, @last or a tag), some of its cases, or one case.

    If several of --worst, --failing, --flaky, --errors and --flagged are given, only cases that match all are shown.
    """
    _check(case_id, options)
    if case_id is not None:
        _show_case(config_path, run, case_id, as_json=as_json)
    elif _is_selection(options):
        _show_cases(config_path, run, options, as_json=as_json)
    else:
        outcome = show_run(read_settings(config_path), run)
        print_json(run_document(outcome)) if as_json else print_summary(outcome)


def _check(case_id: str | None, options: dict[str, Any]) -> None:
    chosen = [name for name in ("worst", *_KINDS) if options[name]]
    more = [name for name in ("metric", "samples", "limit", "cursor") if options[name]]
    if case_id is not None:
        if other := [name for name in (*chosen, *more) if name != "samples"]:
            raise click.UsageError(f"--case shows one case and cannot be combined with --{other[0]}.")
    elif more and not chosen:
        kinds = ", ".join(f"--{name}" for name in _KINDS)
        raise click.UsageError(f"--{more[0]} needs a selection of cases. Add one of --worst N, {kinds}.")
    elif options["worst"] and options["limit"]:
        raise click.UsageError("--worst N already says how many cases to show; remove --limit.")


def _is_selection(options: dict[str, Any]) -> bool:
    return any(options[name] for name in ("worst", *_KINDS))


def _show_case(config_path: Path | None, run: str, case_id: str, *, as_json: bool) -> None:
    found = show_case(read_settings(config_path), run, case_id)
    if as_json:
        print_json(whole_case_document(found))
    else:
        print_lines(case_page(found, columns(sys.stdout) - 1 if sys.stdout.isatty() else None))


def _show_cases(config_path: Path | None, run: str, options: dict[str, Any], *, as_json: bool) -> None:
    selection = CaseSelection(
        **{name: options[name] for name in (*_KINDS, "metric", "samples", "cursor")},
        worst=options["worst"] is not None,
        limit=options["worst"] or options["limit"] or _SHOWN,
    )
    found = list_cases(read_settings(config_path), run, selection)
    if as_json:
        print_json(cases_document(found))
    else:
        print_lines(case_list(found, selection, columns(sys.stdout) - 1))
