"""`prompt-evaluator runs list`."""

from __future__ import annotations

import shlex
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.row_documents import runs_document
from prompt_evaluator.app.run_queries import query_runs, why_none_fits
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.options import several_conditions
from prompt_evaluator.cli.output import json_option, print_json, print_lines
from prompt_evaluator.cli.run_table import run_table
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import columns
from prompt_evaluator.model.bounds import LISTED
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.query import RunQuery
from prompt_evaluator.model.several import SEVERAL

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.query import Page, RunLine

_NONE_YET = "No runs yet. Start one: {program} evaluate-dataset -d DATASET -s PROMPT"
_NONE_MATCH = "No runs match. `{program} runs list` shows all runs."


@click.command("list")
@click.option(
    "--where",
    multiple=True,
    callback=several_conditions,
    metavar="CONDITION",
    help="Only runs that match, such as status=completed, dataset~support, tag.team=search, metric.correct>=4 or "
    f"cost>1. {SEVERAL}",
)
@click.option("--sort", default="age", show_default=True, metavar="COLUMN", help="Sort by COLUMN; -COLUMN reverses.")
@click.option(
    "--limit", type=number_type(LISTED), default=20, show_default=True, metavar="N", help="List at most N runs."
)
@click.option("--cursor", metavar="NEXT", help="Continue a previous list: the value of `next` in its --json.")
@json_option
@settings_options
def list_command(  # noqa: PLR0913 - one for each flag
    *, where: tuple[str, ...] | None, sort: str, limit: int, cursor: str | None, as_json: bool, config_path: Path | None
) -> None:
    """List runs, newest first.

    --where and --sort accept any column of the list, any single value in its --json, tag.KEY, metric.NAME (the mean)
    and error.KIND (the count).
    """
    query = RunQuery(
        where=tuple(map(condition, where or ())),
        sort=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        limit=limit,
        cursor=cursor,
    )
    page = query_runs(read_settings(config_path), query)
    if as_json:
        print_json(runs_document(page))
    elif page.items:
        print_lines([*run_table(page.items, columns(sys.stdout) - 1, datetime.now(UTC)), *_more(page)])
    else:
        click.echo(_none(config_path, query))


def _none(config_path: Path | None, query: RunQuery) -> str:
    why = why_none_fits(read_settings(config_path), query) if query.where and not query.cursor else None
    text = _NONE_MATCH if query.where or query.cursor else _NONE_YET
    return why or text.format(program=shlex.join(program()))


def _more(page: Page[RunLine]) -> list[str]:
    shown = len(page.items)
    return [f"There are more runs: use --limit {5 * shown} or --where."] if page.next else []
