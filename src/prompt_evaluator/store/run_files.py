"""Writes the files of one run: its cases, and the main file with all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.outcome import MOST_CASE_FILES
from prompt_evaluator.store.artifacts import CaseFiles, RunFolder, case_line, case_text, update_index
from prompt_evaluator.store.case_pack import CasePack
from prompt_evaluator.store.case_saver import CaseSaver
from prompt_evaluator.store.main_file import MainFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.model import Preparation, RunRecord
    from prompt_evaluator.model.result import CaseResult, RunResult


class RunFiles:
    """Encodes each case once. Cases are saved on one event loop; another thread may write the main file."""

    def __init__(self, record: RunRecord, case_ids: Callable[[], Iterable[str]]) -> None:
        """Create the run's folder; `case_ids` iterates over the ids of its cases in order."""
        folder, cases = RunFolder(record), record.plan.dataset.selected
        folder.make()
        self._case_ids = case_ids
        self._pack: CasePack | None = None
        self._saver: CaseSaver | None = None
        if cases > MOST_CASE_FILES:
            self._pack = CasePack(folder.path)
        else:
            self._saver = CaseSaver(folder, CaseFiles(case_ids()))
        self._main = MainFile(folder.path)

    async def save(self, position: int, result: CaseResult) -> None:
        """Save the result of a case so far. A finished case gets its own file, or a line if the run is very large."""
        text = self._add(position, result)
        if self._saver and result.status != "pending":
            await self._saver.save(result.test_case_id, text)

    def save_now(self, position: int, result: CaseResult) -> None:
        """Same, without an event loop."""
        text = self._add(position, result)
        if self._saver and result.status != "pending":
            self._saver.write(result.test_case_id, text)

    def _add(self, position: int, result: CaseResult) -> bytes:
        """Add the case to the files with several cases; in those of a large run, each case is one line."""
        line = case_line(result)
        text = line if self._pack else case_text(line)
        self._main.add(position, text)
        if self._pack and result.status != "pending":
            self._pack.add(line)
        return text

    def flush(self) -> None:
        """Return when all case files have been written. Nothing may be saved afterwards."""
        if self._saver:
            self._saver.close()

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
