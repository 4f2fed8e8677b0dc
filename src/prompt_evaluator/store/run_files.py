"""Writes the files of one run: its cases, and the main file with all of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prompt_evaluator.model.outcome import MOST_CASE_FILES
from prompt_evaluator.store.artifacts import CaseFiles, RunFolder, case_line, case_text, update_index
from prompt_evaluator.store.case_pack import CasePack
from prompt_evaluator.store.main_file import MainFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.model import Preparation, RunRecord
    from prompt_evaluator.model.result import CaseResult, RunResult


class RunFiles:
    """Encodes each case once. One thread saves cases; another may write the main file meanwhile."""

    def __init__(self, record: RunRecord, case_ids: Callable[[], Iterable[str]]) -> None:
        """Create the run's folder; `case_ids` iterates over the ids of its cases in order."""
        self._folder, self._case_ids = RunFolder(record), case_ids
        self._folder.make()
        is_large = record.plan.dataset.selected > MOST_CASE_FILES
        self._pack = CasePack(self._folder.path) if is_large else None
        self._names = None if is_large else CaseFiles(case_ids())
        self._main = MainFile(self._folder.path)

    async def save(self, position: int, result: CaseResult) -> None:
        """Save the result of a case so far. A finished case gets its own file, or a line if the run is very large."""
        if file := self._added(position, result):
            await asyncio.to_thread(self._folder.write_case, *file)

    def save_now(self, position: int, result: CaseResult) -> None:
        """Same, without an event loop."""
        if file := self._added(position, result):
            self._folder.write_case(*file)

    def _added(self, position: int, result: CaseResult) -> tuple[str, bytes] | None:
        """Add the case to the files with several cases. Return the name and content of its own file, if it gets one."""
        line = case_line(result)
        text = line if self._pack else case_text(line)
        self._main.add(position, text)
        if result.status == "pending":
            return None
        if self._pack:
            self._pack.add(line)
        return (self._names.name(result.test_case_id), text + b"\n") if self._names else None

    def write(self, record: RunRecord, result: RunResult | None, prepared: Sequence[Preparation] = ()) -> None:
        """Write the main file: the saved cases, and all others as pending. Publish the pack, if there is one."""
        if self._pack:
            self._pack.show()
        self._main.write(record, result, prepared, self._case_ids())

    def index(self, record: RunRecord, result: RunResult | None) -> None:
        update_index(record, result)

    def close(self) -> None:
        if self._pack:
            self._pack.close()
        self._main.close()
