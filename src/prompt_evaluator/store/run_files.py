"""The files of one run while it goes on: one a case, and the main file with all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.store.artifacts import CaseFiles, RunFolder, case_text, update_index
from prompt_evaluator.store.case_saver import CaseSaver
from prompt_evaluator.store.main_file import MainFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.model import Preparation, RunRecord
    from prompt_evaluator.model.result import CaseResult, RunResult


class RunFiles:
    """Each case is turned into text once. Cases are saved on one event loop; the main file may be written beside it."""

    def __init__(self, record: RunRecord, case_ids: Callable[[], Iterable[str]]) -> None:
        """Take a run, for which a folder is made, and what goes through the ids of its cases in order."""
        folder = RunFolder(record)
        folder.make()
        self._case_ids = case_ids
        self._saver = CaseSaver(folder, CaseFiles(case_ids()))
        self._main = MainFile(folder.path, record.plan.dataset.selected)

    async def save(self, position: int, result: CaseResult) -> None:
        text = case_text(result)
        self._main.add(position, text)
        if result.status != "pending":
            await self._saver.save(result.test_case_id, text)

    def save_now(self, position: int, result: CaseResult) -> None:
        """The same where no event loop has to be spared."""
        text = case_text(result)
        self._main.add(position, text)
        if result.status != "pending":
            self._saver.write(result.test_case_id, text)

    def flush(self) -> None:
        self._saver.close()

    def write(self, record: RunRecord, result: RunResult | None, prepared: Sequence[Preparation] = ()) -> None:
        self._main.write(record, result, prepared, self._case_ids())

    def index(self, record: RunRecord, result: RunResult | None) -> None:
        update_index(record, result)

    def close(self) -> None:
        self._main.close()
