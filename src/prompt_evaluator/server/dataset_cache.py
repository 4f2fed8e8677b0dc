"""What was found out about the files of datasets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_evaluator.app.serving.dataset_cases import find_matching, read_whole
from prompt_evaluator.server.remembering import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.app.serving.dataset_cases import DatasetFile
    from prompt_evaluator.model import TestCase


@dataclass(slots=True)
class DatasetCache:
    """Values by the content of a file."""

    _documents: Remembered[tuple[Path, str | None], Sequence[TestCase]] = field(default_factory=lambda: Remembered(6))
    _matches: Remembered[tuple[Path, str | None, str], Sequence[int]] = field(default_factory=lambda: Remembered(64))

    def whole(self, file: DatasetFile) -> Sequence[TestCase]:
        """All cases of a document, which can only be read whole."""
        return self._documents.get((file.path, file.facts.hash), lambda: read_whole(file.path))

    def matching(self, file: DatasetFile, text: str) -> Sequence[int]:
        """Positions of the cases that match a filter, in file order."""
        cases = None if file.facts.blocks else self.whole(file)
        return self._matches.get((file.path, file.facts.hash, text), lambda: find_matching(file, text, cases))
