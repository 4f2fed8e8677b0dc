"""`prompt-evaluator leaderboard`."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.leaderboard import leaderboard
from prompt_evaluator.app.prompt_names import target_names
from prompt_evaluator.app.row_documents import leaderboard_document
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.grid import Cell, Column, GridRow, grid
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.output import json_option, print_json, print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import SEPARATOR, clean, columns, tokens, wrap
from prompt_evaluator.model.bounds import LISTED
from prompt_evaluator.model.leaderboard import LeaderboardQuery
from prompt_evaluator.model.run_facts import SHORT_ID
from prompt_evaluator.model.wording import decimal, many, money, percent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.model.leaderboard import DatasetBoard, Leaderboard, RankedRun, RankedScore

_NONE_YET = "No finished runs yet. Start one: {program} evaluate-dataset -d DATASET -s PROMPT"
_TITLES = ("Mean (95 %)", "Pass", "$", "Tokens", "Errors")
"""The last one is left out if there are none."""
_SYNTHETIC = "*"
_UNKNOWN = "–"  # noqa: RUF001 - a dash for no value
_WIDEST_TEXT = 110
_HOW = (
    "Runs share a rank if their intervals overlap; `compare` tests such a pair more sharply. "
    "Cost and tokens are those of a sample."
)


@click.command("leaderboard")
@click.option("--dataset", metavar="DATASET", help="A name, a path, or the beginning of a hash.  [default: all]")
@click.option("--metric", metavar="NAME", help="Rank by this metric.  [default: the first one of each dataset]")
@click.option(
    "--limit",
    type=number_type(LISTED),
    default=20,
    show_default=True,
    metavar="N",
    help="List at most N models of each dataset.",
)
@json_option
@settings_options
def leaderboard_command(
    *, dataset: str | None, metric: str | None, limit: int, as_json: bool, config_path: Path | None
) -> None:
    """Rank models on each dataset, by the newest comparable runs.

    The newest finished run of each model with each prompt counts. Runs are comparable if they have the same version
    and the same cases of the dataset, the same judge, the same rubric and the same metrics; of several such groups,
    the one with the most models is shown. A rank is 1 plus the number of runs whose 95 % interval lies above.
    """
    query = LeaderboardQuery(dataset=dataset, metric=metric, limit=limit)
    found = leaderboard(read_settings(config_path), query)
    if as_json:
        print_json(leaderboard_document(found))
    elif not found.boards:
        click.echo(_NONE_YET.format(program=shlex.join(program())))
    else:
        print_lines(leaderboard_lines(found, columns(sys.stdout) - 1))


def leaderboard_lines(found: Leaderboard, width: int) -> list[str]:
    """All boards as one table, with what was left out below it."""
    rows = [row for board in found.boards for row in _rows(board)]
    shown = _TITLES if any(run.errors for board in found.boards for run in board.runs) else _TITLES[:-1]
    table = grid([Column(title, right=at > 0) for at, title in enumerate(shown)], rows, width)
    notes = [line for note in _notes(found) for line in wrap(clean(note), min(width, _WIDEST_TEXT))]
    return [*table, "", *(click.style(line, dim=True) for line in notes)]


def _rows(board: DatasetBoard) -> Iterator[GridRow]:
    section = _section(board)
    names = target_names(board)
    places = max(len(_rank(run)) for run in board.runs)
    for run in board.runs:
        mark = _SYNTHETIC if run.synthetic else ""
        name = f"{_rank(run):>{places}} {clean(names[run.run_id])}{mark}"
        yield GridRow(name, tuple(map(Cell, _texts(run, run.scores[board.metric], board.digits))), section)


def _section(board: DatasetBoard) -> str:
    scale = board.runs[0].scores[board.metric].scale
    ranked_by = f"{board.metric}, {scale[0]:,g} to {scale[1]:,g}"
    name = board.dataset_name or (board.dataset_hash or "")[:SHORT_ID]
    judge = f"judge {board.judge_model}" if board.judge_model else "no judge"
    return clean(SEPARATOR.join((f"{name}: {ranked_by}", many(board.cases, "case"), judge)))


def _texts(run: RankedRun, score: RankedScore, digits: int) -> tuple[str, ...]:
    between = " to ".join(decimal(end, digits) for end in score.interval or ())
    more = "+" if run.unpriced_calls else ""
    return (
        f"{decimal(score.mean, digits)} ({between})" if between else decimal(score.mean, digits),
        _UNKNOWN if score.pass_rate is None else percent(score.pass_rate),
        _UNKNOWN if run.cost_per_sample is None else f"{money(run.cost_per_sample)}{more}",
        _UNKNOWN if run.tokens_per_sample is None else tokens(run.tokens_per_sample),
        f"{run.errors:,}",
    )


def _rank(run: RankedRun) -> str:
    return _UNKNOWN if run.rank is None else f"{run.rank}."


def _notes(found: Leaderboard) -> Iterator[str]:
    runs = [run for board in found.boards for run in board.runs]
    yield _HOW
    if any(run.rank is None for run in runs):
        yield f"{_UNKNOWN} no rank: with fewer than five cases there is no interval."
    if any(run.synthetic for run in runs):
        yield f"{_SYNTHETIC} synthetic: the offline mock answered or judged."
    if any(run.unpriced_calls for run in runs if run.cost is not None):
        yield "+ and more: some calls have no known price."
    for board in found.boards:
        name = board.dataset_name or (board.dataset_hash or "")[:SHORT_ID]
        if board.more_runs:
            yield f"{name}: {many(board.more_runs, 'more model')}; use --limit."
        if board.left_out:
            reasons = Counter(run.reason for run in board.left_out).most_common(3)
            more = len(board.left_out) - sum(count for _, count in reasons)
            texts = [f"{many(count, 'run')} that {reason}" for reason, count in reasons]
            rest = [f"{more:,} more"] if more else []
            yield f"{name}: left out {'; '.join((*texts, *rest))}. --json lists them."
    if found.more_runs:
        yield f"Only the newest {found.looked_at:,} finished runs were considered; --dataset narrows them down."
