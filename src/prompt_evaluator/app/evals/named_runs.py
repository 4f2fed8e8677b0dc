"""Finds runs of the harness by what a person calls them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.harness.history import read_run_file
from prompt_evaluator.hints import some_of

if TYPE_CHECKING:
    from prompt_evaluator.harness.history import History
    from prompt_evaluator.model.harness import HarnessRun

PREVIOUS = "previous"
_SHORTEST_PREFIX = 4


class ChosenBaseline(NamedTuple):
    """A run to compare with, and how it was chosen, in words."""

    run: HarnessRun
    how: str


def find_baseline(history: History, name: str) -> ChosenBaseline | None:
    """Find the run to compare the newest one with; None if there are not enough runs to have one.

    Args:
        history: The runs that there are.
        name: `previous`, the id of a run or its beginning, or a file with a run.

    Raises:
        ConfigurationError: There is no such run, or there are several.
    """
    if not len(history):
        return None
    if name == PREVIOUS:
        found = _previous(history)
        return ChosenBaseline(found, "the run before it") if found else None
    if run := _in_history(history, name):
        return ChosenBaseline(run, "as asked for")
    if "/" in name or name.endswith(".json") or Path(name).is_file():
        return ChosenBaseline(read_run_file(Path(name)), f"from {name}")
    raise UnknownNameError("run", name, [head.run_id for head in history.heads()][::-1])


def _previous(history: History) -> HarnessRun | None:
    """The entry before the newest run. A run that was resumed has several entries."""
    heads = list(history.heads())
    before = [at for at, head in enumerate(heads) if head.run_id != heads[-1].run_id]
    return history.run(before[-1]) if before else None


def _in_history(history: History, name: str) -> HarnessRun | None:
    ids = [head.run_id for head in history.heads()]
    if name in ids:
        return history.run(len(ids) - 1 - ids[::-1].index(name))
    found = dict.fromkeys(each for each in ids if each.startswith(name)) if len(name) >= _SHORTEST_PREFIX else {}
    if len(found) > 1:
        raise ConfigurationError(f"{name!r} is the beginning of {len(found):,} runs: {some_of(list(found), 5)}.")
    return _in_history(history, next(iter(found))) if found else None
