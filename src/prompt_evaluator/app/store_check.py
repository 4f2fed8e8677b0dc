"""Checks that a store can be used and that everything in it fits together."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.run_check import check_run
from prompt_evaluator.errors import OutdatedStoreError, StoreError
from prompt_evaluator.hints import some_of
from prompt_evaluator.model.upkeep import StoreFinding, StoreReport
from prompt_evaluator.model.wording import many
from prompt_evaluator.store.artifacts import RunFolder
from prompt_evaluator.store.schema import HEAD
from prompt_evaluator.store.upkeep import UpkeepStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prompt_evaluator.store.checking import Strays

    Say = Callable[[str], None]

_NAMED_RUNS = 5
_COPY = "`prompt-evaluator store copy` to a new store leaves them behind."


def check_store(location: Path | str, shown: str, *, deep: bool, say: Say) -> StoreReport:
    """Look for problems. Nothing is changed, and an outdated store is not migrated.

    Args:
        location: A file, or the URL of a database.
        shown: The store, for display.
        deep: Also compute all results again, and compare them with the stored ones.
        say: Shows the progress.
    """
    try:
        with closing(UpkeepStore.open(location, upgrade="never")) as store:
            check = _Check(store, deep=deep, say=say)
            findings = tuple(check.findings())
            return _report(store.where, findings, deep=deep, revision=HEAD, runs=check.runs)
    except OutdatedStoreError as error:
        text = f"It has schema revision {error.revision}, but this version of prompt-evaluator needs {error.newest}."
        advice = "Run `prompt-evaluator store migrate`, then check it again."
        return _report(error.where, (_problem(text, advice),), deep=deep, revision=error.revision)
    except StoreError as error:
        return _report(shown, (_problem(str(error), ""),), deep=deep, revision=None)


def _report(
    store: str, findings: tuple[StoreFinding, ...], *, deep: bool, revision: str | None, runs: int = 0
) -> StoreReport:
    ok = all(finding.level != "problem" for finding in findings)
    return StoreReport(store=store, ok=ok, deep=deep, revision=revision, runs=runs, findings=findings)


def _problem(text: str, advice: str, run_id: str | None = None) -> StoreFinding:
    return StoreFinding(level="problem", text=text, advice=advice, run_id=run_id)


class _Check:
    """One look at a store."""

    def __init__(self, store: UpkeepStore, *, deep: bool, say: Say) -> None:
        self._store, self._deep, self._say = store, deep, say
        self.runs = 0
        """How many have been checked."""
        self._without_files: list[str] = []

    def findings(self) -> Iterator[StoreFinding]:
        """Everything that was found. One part that cannot be read does not hide the others."""
        for part in (self._damage, self._strays, self._requests, self._every_run):
            try:
                yield from part()
            except StoreError as error:
                yield _problem(str(error), "")
        if left := self._without_files:
            has = "1 run has" if len(left) == 1 else f"{len(left):,} runs have"
            yield StoreFinding(
                level="note",
                text=f"{has} no files on this machine: {some_of(left, _NAMED_RUNS)}.",
                advice=f"They may be elsewhere. `prompt-evaluator runs rebuild {left[0]}` writes them again.",
            )

    def _damage(self) -> Iterator[StoreFinding]:
        self._say("Checking the file.")
        if found := self._store.damage(deep=self._deep):
            more = f" and {many(len(found) - 1, 'more problem')}" if len(found) > 1 else ""
            yield _problem(
                f"The file is damaged: {found[0]}{more}.",
                "Restore a backup, or rescue what can be read with `prompt-evaluator store copy` to a new store.",
            )

    def _strays(self) -> Iterator[StoreFinding]:
        known = set(self._store.run_statuses())
        self._say("Looking for rows that belong to nothing.")
        for found in self._store.strays():
            for strays in found:
                if strays.missing == "run" or strays.run_id is None or strays.run_id in known:
                    yield _stray(strays)

    def _requests(self) -> Iterator[StoreFinding]:
        for number, run_id in self._store.requests_without_run():
            yield _problem(
                f"Request {number} in the queue is for run {run_id}, which is not there.",
                f"A worker ends it as soon as it takes it: run `prompt-evaluator work`, or {_COPY}",
            )

    def _every_run(self) -> Iterator[StoreFinding]:
        statuses = self._store.run_statuses()
        for run_id in statuses:
            self._say(f"Checking run {self.runs + 1:,} of {len(statuses):,}.")
            yield from self._run(run_id)
            self.runs += 1

    def _run(self, run_id: str) -> Iterator[StoreFinding]:
        try:
            record = self._store.run(run_id)
            owner = self._store.owner(run_id)
            if owner is None and record.status == "running":
                yield _problem(
                    f"Run {run_id} is marked as running, but no process works on it.",
                    f"Continue it with `prompt-evaluator resume {run_id}`.",
                    run_id,
                )
            elif owner is None and record.status != "queued":
                yield from check_run(self._store, record, deep=self._deep, say=self._say)
                if not RunFolder(record).path.is_dir():
                    self._without_files.append(run_id)
        except StoreError as error:
            yield _problem(f"Run {run_id} cannot be checked: {error}", _unreadable(run_id), run_id)


def _unreadable(run_id: str) -> str:
    return f"If a backup has it, copy it from there; `prompt-evaluator runs delete {run_id}` removes it."


def _stray(strays: Strays) -> StoreFinding:
    belong = f"{many(strays.rows, 'row')} in `{strays.table}` {'belongs' if strays.rows == 1 else 'belong'} to"
    run_id, gone = strays.run_id, f"a {strays.missing} that is not there"
    if strays.missing == "run" or run_id is None:
        text = f"{belong} run {run_id}, which is not there." if run_id else f"{belong} {gone}."
        return _problem(text, f"Nobody sees them. If a copy was interrupted, repeat it; otherwise, {_COPY}", run_id)
    if strays.missing == "result":
        advice = f"Make the results again with `prompt-evaluator runs rebuild {run_id}`."
    else:
        advice = f"Restore a backup. {_unreadable(run_id)}"
    return _problem(f"Run {run_id}: {belong} {gone}.", advice, run_id)
