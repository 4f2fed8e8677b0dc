"""Findings about a leaderboard: who is first, and who cannot be told apart from the first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prompt_evaluator.model.run_facts import SHORT_ID
from prompt_evaluator.model.wording import decimal, listed, many, money, percent
from prompt_evaluator.reports.markdown_parts import bullets, cell, figures, joined, said, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prompt_evaluator.model.leaderboard import DatasetBoard, RankedRun

_TITLES = ("Rank", "Model", "Mean (95 %)", "Pass", "$ per sample", "Tokens per sample", "Cases", "Errors")
_MOST_NAMED = 3
_NO_RANK = "–"  # noqa: RUF001 - a dash for no value


def board_name(board: DatasetBoard) -> str:
    """What its dataset is called; one without a file has only its hash."""
    return board.dataset_name or (board.dataset_hash or "")[:SHORT_ID]


def board_sentence(board: DatasetBoard, names: Mapping[str, str]) -> str:
    """Who is first on a dataset.

    Args:
        board: The ranked runs.
        names: Of the runs, by their ids.
    """
    on, first = board_name(board), [run for run in board.runs if run.rank == 1]
    total = len(board.runs) + board.more_runs
    if total == 1:
        others = len(board.left_out)
        why = (
            f"to rank on {on}, as {many(others, 'other run')} cannot be compared with it" if others else f"run on {on}"
        )
        return f"{names[board.runs[0].run_id]} is the only one {why}: {_mean(board, board.runs[0])}."
    if not first:
        return f"Nobody has a rank on {on}: with fewer than five cases there is no interval."
    if len(first) == 1:
        return f"{names[first[0].run_id]} is first of {total:,} on {on}: {_mean(board, first[0])}."
    if len(first) == total:
        return f"Nobody leads on {on}: the intervals of all {total:,} overlap."
    some = listed([names[run.run_id] for run in first[:_MOST_NAMED]])
    shared = some if len(first) <= _MOST_NAMED else f"{len(first):,} of {total:,}"
    return f"{shared} share the first place of {total:,} on {on}: their intervals overlap."


def leaders_sentence(boards: Sequence[DatasetBoard]) -> str:
    """Which models are first, or share the first place, on the most datasets."""
    leads = Counter(model for board in boards for model in {run.model for run in board.runs if run.rank == 1})
    most = max(leads.values(), default=0)
    if not most:
        return f"No model has a rank on any of {many(len(boards), 'dataset')}."
    best = [model for model, count in leads.items() if count == most]
    if len(best) > _MOST_NAMED:
        return f"{len(best):,} models lead on {most:,} of {many(len(boards), 'dataset')} each, alone or with others."
    does = "leads" if len(best) == 1 else "lead"
    return f"{listed(best)} {does} on {most:,} of {many(len(boards), 'dataset')}, alone or with others."


def board_markdown(board: DatasetBoard, names: Mapping[str, str]) -> str:
    """The sentence, the table, and what was left out."""
    head = f"**{said(board_sentence(board, names))}**"
    under = f"{said(board_name(board))}, ranked by {said(board.metric)}. {said(judged_by(board))}"
    left_out = Counter(run.reason for run in board.left_out).items()
    return joined(
        head,
        under,
        table(_TITLES, [_row(board, run, names[run.run_id]) for run in board.runs]),
        bullets(said(f"Left out: {many(count, 'run')} that {reason}.") for reason, count in left_out),
    )


def judged_by(board: DatasetBoard) -> str:
    """How many cases, and who judged."""
    judge = f"judged by {board.judge_model}" if board.judge_model else "without a judge"
    return f"{many(board.cases, 'case')}, {judge}."


def rank(run: RankedRun) -> str:
    return _NO_RANK if run.rank is None else f"{run.rank}"


def _row(board: DatasetBoard, run: RankedRun, name: str) -> list[str]:
    return [cell(name) if at == 1 else figures(text) for at, text in enumerate(_texts(board, run, name))]


def _texts(board: DatasetBoard, run: RankedRun, name: str) -> Iterator[str]:
    score = run.scores[board.metric]
    yield rank(run)
    yield f"{name} (synthetic)" if run.synthetic else name
    yield _mean(board, run)
    yield "" if score.pass_rate is None else percent(score.pass_rate)
    yield "" if run.cost_per_sample is None else money(run.cost_per_sample)
    yield "" if run.tokens_per_sample is None else f"{run.tokens_per_sample:,.0f}"
    yield f"{score.cases:,}"
    yield f"{run.errors:,}"


def _mean(board: DatasetBoard, run: RankedRun) -> str:
    score = run.scores[board.metric]
    between = " to ".join(decimal(end, board.digits) for end in score.interval or ())
    mean = decimal(score.mean, board.digits)
    return f"{mean} ({between})" if between else mean
