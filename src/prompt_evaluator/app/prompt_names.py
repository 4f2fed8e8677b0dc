"""Short names of prompts, and of models with their prompts, that tell the rows of a leaderboard apart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.leaderboard import DatasetBoard, RankedRun

_SHORT_HASH = 4
"""Enough to tell the prompts of a table apart."""


def prompt_names(runs: Sequence[RankedRun]) -> dict[str | None, str]:
    """A short name of each prompt: its version or its file, and its hash if that does not tell it apart."""
    names = {run.prompt_hash: run.prompt_version or run.prompt_file or "" for run in runs}
    often = Counter(names.values())
    return {digest: _name(digest, name, alone=often[name] == 1) for digest, name in names.items()}


def target_names(board: DatasetBoard) -> dict[str, str]:
    """The model of each run, by its id, with the prompt if there are several."""
    prompts = prompt_names(board.runs)
    return {run.run_id: run.model + (f" {prompts[run.prompt_hash]}" if len(prompts) > 1 else "") for run in board.runs}


def _name(digest: str | None, name: str, *, alone: bool) -> str:
    if digest is None:
        return "no prompt"
    return name if name and alone else f"{name} {digest[:_SHORT_HASH]}".strip()
