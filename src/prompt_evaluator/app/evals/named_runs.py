"""Finds runs of the harness by what a person calls them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.errors import ConfigurationError, IncomparableError, UnknownNameError
from prompt_evaluator.harness.baseline import read_pinned, read_run_file
from prompt_evaluator.harness.history import read_history
from prompt_evaluator.harness.verdicts import read_verdicts
from prompt_evaluator.hints import some_of

if TYPE_CHECKING:
    from prompt_evaluator.harness.history import History, RunHead
    from prompt_evaluator.model.harness import HarnessRun

LATEST, PREVIOUS = "latest", "previous"
_SHORTEST_PREFIX = 4


class HarnessFolder(NamedTuple):
    """The harness's folder, `evals/` by default."""

    path: Path

    @property
    def results(self) -> Path:
        return self.path / "results"

    @property
    def pin(self) -> Path:
        """The file with the pinned baseline."""
        return self.path / "baseline.json"


class ChosenBaseline(NamedTuple):
    """A run to compare with, and how it was chosen, in words."""

    run: HarnessRun
    how: str


def latest_run(folder: HarnessFolder) -> HarnessRun | None:
    """The newest run; None if there is none."""
    history = read_history(folder.results)
    return history.run(-1) if len(history) else None


def list_runs(folder: HarnessFolder, limit: int) -> list[RunHead]:
    """The newest runs without their evaluations, newest first."""
    return list(read_history(folder.results).heads())[::-1][:limit]


def refuse_files(folder: HarnessFolder, name: str) -> None:
    """Raise `UnknownNameError` unless a run in the history has this id: for callers who may not name files."""
    if _in_history(history := read_history(folder.results), name) is None:
        raise UnknownNameError("run", name, [head.run_id for head in history.heads()][::-1])


def find_run(folder: HarnessFolder, name: str) -> HarnessRun:
    """Find a run by its id, the beginning of its id, a file that has it, or as `latest` or `@last`.

    Raises:
        ConfigurationError: There is no such run, or there are several.
    """
    history = read_history(folder.results)
    if name in (LATEST, "@last") and len(history):
        return history.run(-1)
    return _in_history(history, name) or _in_file(history, name)


def find_baseline(folder: HarnessFolder, name: str) -> ChosenBaseline | None:
    """Find the run to compare the newest one with; None if there are not enough runs to have one.

    Raises:
        IncomparableError: The baseline that was asked for is missing.
        ConfigurationError: There is no such run.
    """
    history = read_history(folder.results)
    if not len(history):
        return None
    match name:
        case "previous":
            found = _previous(history)
            return ChosenBaseline(found, "the run before it") if found else None
        case "last-passed":
            return _last_passed(folder, history)
        case "pinned":
            return _pinned(folder)
        case _ if run := _in_history(history, name):
            return ChosenBaseline(run, "as asked for")
        case _:
            return ChosenBaseline(_in_file(history, name), f"from {name}")


def _previous(history: History) -> HarnessRun | None:
    """The entry before the newest run. A run that was resumed has several entries."""
    heads = list(history.heads())
    before = [at for at, head in enumerate(heads) if head.run_id != heads[-1].run_id]
    return history.run(before[-1]) if before else None


def _last_passed(folder: HarnessFolder, history: History) -> ChosenBaseline | None:
    """The last run that passed; if none has, the last that was let through because nothing came before it."""
    ids = {head.run_id: at for at, head in enumerate(history.heads())}
    newest = history.run(-1).run_id
    verdicts = [each for each in read_verdicts(folder.results) if each.run_id != newest]
    for kind, how in (("pass", "the last that passed"), ("skipped", "the first that was let through")):
        wanted = [each.run_id for each in verdicts if each.verdict == kind]
        known = [run_id for run_id in wanted if run_id in ids]
        if known:
            return ChosenBaseline(history.run(ids[known[-1]]), how)
        if wanted:
            raise IncomparableError(
                f"{folder.results / 'history.json'}: none of the runs that passed the gate is in the history, such as "
                f"{wanted[-1]}. Keep history.json and gate.json together between builds."
            )
    if len(ids) > 1:
        raise IncomparableError(
            f"{folder.results / 'gate.json'}: no run has passed the gate yet. Compare with the run before, which is "
            "the default, or name one with --baseline."
        )
    return None


def _pinned(folder: HarnessFolder) -> ChosenBaseline:
    pinned = read_pinned(folder.pin)
    if pinned is None:
        raise IncomparableError(
            f"{folder.pin}: no run is pinned. Pin one with `prompt-evaluator evals baseline set RUN`."
        )
    note = f": {pinned.note}" if pinned.note else ""
    return ChosenBaseline(pinned.run, f"pinned on {pinned.pinned_at[:10]}{note}")


def _in_history(history: History, name: str) -> HarnessRun | None:
    ids = [head.run_id for head in history.heads()]
    if name in ids:
        return history.run(len(ids) - 1 - ids[::-1].index(name))
    found = dict.fromkeys(each for each in ids if each.startswith(name)) if len(name) >= _SHORTEST_PREFIX else {}
    if len(found) > 1:
        raise ConfigurationError(f"{name!r} is the beginning of {len(found):,} runs: {some_of(list(found), 5)}.")
    return _in_history(history, next(iter(found))) if found else None


def _in_file(history: History, name: str) -> HarnessRun:
    if "/" in name or name.endswith(".json") or Path(name).is_file():
        return read_run_file(Path(name))
    raise UnknownNameError("run", name, [head.run_id for head in history.heads()][::-1])
