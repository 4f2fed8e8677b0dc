"""Copies runs from one store to another."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.app.stores import fill_results
from prompt_evaluator.errors import ConfigurationError, OutdatedStoreError, RunBusyError, StoreError
from prompt_evaluator.model.upkeep import CopyReport, RunCopy
from prompt_evaluator.model.wording import listed, many
from prompt_evaluator.store.run_tables import NOT_COPIED
from prompt_evaluator.store.upkeep import UpkeepStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prompt_evaluator.store.run_reader import RunReader

    Say = Callable[[str], None]
    """Shows what is going on. Called often."""

_PAUSE = 0.2
_NAMES = {"baselines": "baseline", "views": "view"}


def copy_runs(source: Path | str, target: Path | str, runs: Sequence[str], *, say: Say) -> CopyReport:
    """Copy the runs with these names, or all, with everything that belongs to them.

    A run that is in the target already is left alone, and reported if it is not the same.

    Args:
        source: The store to copy from. It is not changed.
        target: The store to copy to. It is created if there is none.
        runs: Names of runs in the source; none means all runs.
        say: Shows the progress.
    """
    if _place(source) == _place(target):
        raise ConfigurationError("A store cannot be copied to itself. Name two different stores.")
    with (
        closing(_opened_source(source)) as giving,
        closing(UpkeepStore.open(target, fill=fill_results)) as taking,
    ):
        statuses = giving.run_statuses()
        wanted = list(dict.fromkeys(map(giving.full_id, runs))) or list(statuses)
        copier = _Copier(giving, taking, say, total=len(wanted))
        done = tuple(copier.copy(run_id, statuses[run_id]) for run_id in wanted)
        there = {each.run_id for each in done if each.outcome != "left out"}
        left = taking.add_named_rows(giving.named_rows(there, others=not runs))
        return CopyReport(
            source=giving.where,
            target=taking.where,
            ok=len(there) == len(done),
            runs=done,
            notes=tuple(_notes(left, taking.where)),
            not_copied=NOT_COPIED,
        )


def _place(location: Path | str) -> str:
    return str(location.resolve()) if isinstance(location, Path) else location


def _opened_source(location: Path | str) -> UpkeepStore:
    try:
        return UpkeepStore.open(location, upgrade="never")
    except OutdatedStoreError as error:
        option = f" --store {location}" if isinstance(location, Path) else " --store URL"
        raise ConfigurationError(
            f"The store {error.where} has schema revision {error.revision}; only one with revision {error.newest} can "
            f"be copied. Run `prompt-evaluator store migrate{option}` first."
        ) from error


def _notes(left: dict[str, list[str]], where: str) -> Iterator[str]:
    for table, names in left.items():
        kind = _NAMES.get(table, table)
        shown = listed(f"'{name}'" for name in names)
        yield (
            f"The {kind} {shown} is something else in {where}, and was left as it is there."
            if len(names) == 1
            else f"The {kind}s {shown} are something else in {where}, and were left as they are there."
        )


class _Copier:
    """Copies runs one after the other, and says how far it is."""

    def __init__(self, giving: UpkeepStore, taking: UpkeepStore, say: Say, *, total: int) -> None:
        self._giving, self._taking, self._say, self._total = giving, taking, say, total
        self._number = self._rows = 0

    def copy(self, run_id: str, status: str) -> RunCopy:
        self._number += 1
        if status == "queued":
            return _left_out(run_id, "it waits for a server to make it. Copy it when it has ended")
        if owner := self._giving.owner(run_id):
            return _left_out(run_id, f"it is in progress, made by {owner}. Copy it when it has ended")
        try:
            return self._copied(run_id)
        except StoreError as error:
            self._giving.has_run(run_id)  # a run that cannot be copied stops no other; a store that is gone does
            self._taking.has_run(run_id)
            return RunCopy(run_id=run_id, outcome="left out", reason=str(error))

    def _copied(self, run_id: str) -> RunCopy:
        with self._giving.reader(run_id) as reader:
            while not self._taking.has_run(run_id):
                try:
                    with self._taking.own(run_id):
                        if not self._taking.has_run(run_id):
                            rows = self._taking.add_copy(reader, self._progress("copying"))
                            return RunCopy(run_id=run_id, outcome="copied", rows=rows)
                except RunBusyError:
                    self._wait(run_id)
            return self._compared(reader)

    def _wait(self, run_id: str) -> None:
        if owner := self._taking.owner(run_id):
            self._say(f"Run {run_id}: waiting for {owner}, which copies it, too.")
        time.sleep(_PAUSE)

    def _compared(self, reader: RunReader) -> RunCopy:
        run_id = reader.run_id
        with self._taking.reader(run_id) as there:
            different = reader.difference(there, self._progress("comparing"))
        if not different:
            return RunCopy(run_id=run_id, outcome="already there")
        return _left_out(
            run_id,
            f"{self._taking.where} has a different run with this id: its {listed(different)} differ. To replace it, "
            "delete it there, then copy again",
        )

    def _progress(self, what: str) -> Callable[[int], None]:
        def on_rows(count: int) -> None:
            self._rows += count
            self._say(f"Run {self._number:,} of {self._total:,}: {what}, {many(self._rows, 'row')} so far.")

        return on_rows


def _left_out(run_id: str, why: str) -> RunCopy:
    return RunCopy(run_id=run_id, outcome="left out", reason=f"Run {run_id} was not copied: {why}.")
