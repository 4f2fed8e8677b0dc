"""Everything that the page about models says: a board for each dataset, and all of them side by side."""

from __future__ import annotations

from contextlib import closing
from shlex import join
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.cost_charts import board_data
from prompt_evaluator.app.leaderboard import FINISHED, leaderboard
from prompt_evaluator.app.prompt_names import prompt_names, target_names
from prompt_evaluator.app.serving.chart_figures import chart_figure
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.chart import Chart
from prompt_evaluator.model.leaderboard import LeaderboardQuery
from prompt_evaluator.model.run_facts import SHORT_ID
from prompt_evaluator.reports.charts import make_chart
from prompt_evaluator.reports.leaderboards import board_markdown, board_name, board_sentence, leaders_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.serving.chart_figures import ChartFigure
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.board_api import LeaderboardPageQuery
    from prompt_evaluator.model.leaderboard import DatasetBoard, RankedRun, RankedScore, UnrankedRun

_MOST_BOARDS = 3
"""Datasets that are shown with all columns if none is chosen."""
_MOST_COLUMNS = 6
"""Datasets side by side."""
_MOST_ROWS = 40
"""Models in the table of all datasets."""
_MOST_LEFT_OUT = 40
_FREE = "The runs whose cost is known cost nothing, so there is no cost to compare."


class Board(NamedTuple):
    """The models of one dataset."""

    board: DatasetBoard
    name: str
    sentence: str
    names: dict[str, str]
    """The model of each run, with its prompt if there are several, by the run's id."""
    prompts: dict[str | None, str]
    scale: tuple[float, float]
    chart: ChartFigure | None
    """Cost against quality; None for a single model."""
    left_out: tuple[UnrankedRun, ...]
    more_left_out: int
    """Runs that are not listed."""


class BoardCell(NamedTuple):
    """One model on one dataset."""

    board: Board
    run: RankedRun
    score: RankedScore


class BoardRow(NamedTuple):
    """One model with one prompt on all datasets."""

    model: str
    prompt: str
    cells: tuple[BoardCell | None, ...]


class LeaderboardPage(NamedTuple):
    """The page."""

    headline: str
    boards: tuple[Board, ...]
    """Those that are shown with all columns."""
    columns: tuple[Board, ...]
    """Those that are side by side; none if there is only one."""
    rows: tuple[BoardRow, ...]
    more_rows: int
    others: tuple[Board, ...]
    """Datasets that are only named."""
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    """To choose from."""
    looked_at: int
    more_runs: bool
    markdown: str
    command: str


def leaderboard_page(settings: Settings, query: LeaderboardPageQuery) -> LeaderboardPage | None:
    """What the page says; None if there are no finished runs.

    Raises:
        UnknownNameError: No finished run has this dataset, or this metric.
    """
    dataset, metric = query.dataset.strip() or None, query.metric.strip() or None
    found = leaderboard(settings, LeaderboardQuery(dataset=dataset, metric=metric, limit=query.limit))
    if not found.boards:
        return None
    every = tuple(map(_board, sorted(found.boards, key=lambda board: len(board.runs) == 1)))  # more to tell comes first
    columns = every[:_MOST_COLUMNS] if len(every) > 1 else ()
    rows = _rows(columns)
    boards = every[:_MOST_BOARDS]
    return LeaderboardPage(
        headline=every[0].sentence if len(every) == 1 else leaders_sentence(found.boards),
        boards=boards,
        columns=columns,
        rows=tuple(rows[:_MOST_ROWS]),
        more_rows=max(0, len(rows) - _MOST_ROWS),
        others=every[_MOST_BOARDS:],
        datasets=dataset_choices(settings),
        metrics=tuple(dict.fromkeys(name for board in found.boards for run in board.runs for name in run.scores)),
        looked_at=found.looked_at,
        more_runs=found.more_runs,
        markdown="\n\n".join(board_markdown(each.board, each.names) for each in boards) + "\n",
        command=_command(dataset, metric),
    )


def dataset_choices(settings: Settings) -> tuple[str, ...]:
    """The datasets of finished runs, the most recently used first."""
    with closing(open_store(settings)) as store:
        versions = store.run_versions(FINISHED)
    return tuple(dict.fromkeys(each.dataset_name or (each.dataset_hash or "")[:SHORT_ID] for each in versions))


def _board(board: DatasetBoard) -> Board:
    names = target_names(board)
    return Board(
        board=board,
        name=board_name(board),
        sentence=board_sentence(board, names),
        names=names,
        prompts=prompt_names(board.runs),
        scale=board.runs[0].scores[board.metric].scale,
        chart=_chart(board),
        left_out=board.left_out[:_MOST_LEFT_OUT],
        more_left_out=max(0, len(board.left_out) - _MOST_LEFT_OUT),
    )


def _chart(board: DatasetBoard) -> ChartFigure | None:
    """Of runs that cost nothing there is nothing to choose between."""
    data = board_data(board)
    if len(board.runs) == 1:
        return None
    if data.costs and not any(point.cost for point in data.costs):
        free = Chart(kind="cost", title=data.title, alternative=_FREE, specification={})
        return chart_figure(free)
    return chart_figure(make_chart(data))


def _rows(columns: Sequence[Board]) -> list[BoardRow]:
    """Every model with every prompt, those that lead most often first."""
    runs = [run for each in columns for run in each.board.runs]
    prompts = prompt_names(runs)
    targets = dict.fromkeys((run.model, run.prompt_hash) for run in runs)
    rows = []
    for model, digest in targets:
        cells = tuple(_cell(each, model, digest) for each in columns)
        rows.append(BoardRow(model, prompts[digest] if len(prompts) > 1 else "", cells))
    return sorted(rows, key=_leading)


def _cell(of: Board, model: str, digest: str | None) -> BoardCell | None:
    run = next((run for run in of.board.runs if (run.model, run.prompt_hash) == (model, digest)), None)
    return BoardCell(of, run, run.scores[of.board.metric]) if run else None


def _leading(row: BoardRow) -> tuple[int, int]:
    ranks = [cell.run.rank for cell in row.cells if cell and cell.run.rank]
    return -ranks.count(1), -len(ranks)


def _command(dataset: str | None, metric: str | None) -> str:
    given = (("--dataset", dataset), ("--metric", metric))
    return join(
        ["prompt-evaluator", "leaderboard", *(part for flag, value in given if value for part in (flag, value))]
    )
