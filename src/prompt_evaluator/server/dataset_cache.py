"""What was found out about the files of datasets, and about how their cases and those of runs differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_evaluator.app.serving.dataset_cases import every_case, find_matching, read_whole
from prompt_evaluator.server.remembering import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.app.serving.dataset_cases import DatasetFile
    from prompt_evaluator.app.stores import ServedSettings
    from prompt_evaluator.model import TestCase
    from prompt_evaluator.model.dataset_api import CaseDifferences


@dataclass(slots=True)
class DatasetCache:
    """Values by the content of a file, or by two runs, whose cases never change."""

    settings: ServedSettings
    _documents: Remembered[tuple[Path, str | None], Sequence[TestCase]] = field(default_factory=lambda: Remembered(6))
    _matches: Remembered[tuple[Path, str | None, str], Sequence[int]] = field(default_factory=lambda: Remembered(64))
    _differences: Remembered[tuple[str, str], CaseDifferences] = field(default_factory=lambda: Remembered(16))

    def whole(self, file: DatasetFile) -> Sequence[TestCase]:
        """All cases of a document, which can only be read whole."""
        return self._documents.get((file.path, file.facts.hash), lambda: read_whole(file.path))

    def matching(self, file: DatasetFile, text: str) -> Sequence[int]:
        """Positions of the cases that match a filter, in file order."""
        cases = None if file.facts.blocks else self.whole(file)
        return self._matches.get((file.path, file.facts.hash, text), lambda: find_matching(file, text, cases))

    def differences(self, before: str, after: str | DatasetFile) -> CaseDifferences:
        """How the cases of two runs differ, or those of a run and of the file."""
        store = self.settings.opened
        if isinstance(after, str):
            return self._differences.get((before, after), lambda: store.case_differences(before, after))
        content = f"{after.path}\n{after.facts.hash}"
        return self._differences.get((before, content), lambda: store.case_differences(before, every_case(after, self)))
